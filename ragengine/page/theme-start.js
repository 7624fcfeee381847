// Runs before the first paint, so that a page with a chosen theme never flashes in the other one.
(() => {
  try {
    const theme = localStorage.getItem("ragengine.theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch {
    // Without storage, the theme of the system stays.
  }
})();
