// Files that are dropped anywhere on the page.

/** `dropped(files)` gets them. */
export function setUpDrop(dropped) {
  let depth = 0;
  const show = () => document.body.classList.toggle("dragging", depth > 0);
  const isFiles = ({ dataTransfer }) => [...(dataTransfer?.types ?? [])].includes("Files");
  addEventListener("dragenter", (event) => {
    if (!isFiles(event)) return;
    event.preventDefault();
    depth++;
    show();
  });
  addEventListener("dragleave", (event) => {
    if (!isFiles(event)) return;
    depth = Math.max(0, depth - 1);
    show();
  });
  // Without this, the browser would open the file in place of the page.
  addEventListener("dragover", (event) => isFiles(event) && event.preventDefault());
  addEventListener("drop", (event) => {
    if (!isFiles(event)) return;
    event.preventDefault();
    depth = 0;
    show();
    const files = [...event.dataTransfer.files];
    if (files.length > 0) dropped(files);
  });
}
