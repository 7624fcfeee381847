// Icons, drawn as lines on a field of 24 by 24. They are decoration: buttons have separate names.

const SHAPES = {
  add: ["M12 5v14M5 12h14"],
  arrowDown: ["M12 5v14M6 13l6 6 6-6"],
  arrowUp: ["M12 19V5M6 11l6-6 6 6"],
  again: ["M19 12a7 7 0 1 1-2.2-5.1", "M19 4v4h-4"],
  check: ["M5 12.5l4.5 4.5L19 7.5"],
  close: ["M6 6l12 12M18 6L6 18"],
  copy: ["M9 9h10v11H9z", "M15 9V4H5v11h4"],
  file: ["M7 3h7l5 5v13H7z", "M14 3v5h5"],
  left: ["M15 5l-7 7 7 7"],
  menu: ["M4 7h16M4 12h16M4 17h10"],
  moon: ["M19.5 14.5A8 8 0 0 1 9.5 4.5a8 8 0 1 0 10 10z"],
  pencil: ["M5 19l1-4L16 5l3 3L9 18z"],
  right: ["M9 5l7 7-7 7"],
  search: ["M11 5a6 6 0 1 1 0 12 6 6 0 0 1 0-12z", "M15.5 15.5L20 20"],
  stop: ["M8 8h8v8H8z"],
  sun: [
    "M12 8a4 4 0 1 1 0 8 4 4 0 0 1 0-8z",
    "M12 2.5v2M12 19.5v2M2.5 12h2M19.5 12h2M5.3 5.3l1.4 1.4M17.3 17.3l1.4 1.4M5.3 18.7l1.4-1.4M17.3 6.7l1.4-1.4",
  ],
  thumb: [
    "M7.5 11v9H4.5v-9z",
    "M7.5 11l4-7.5c1.4 0 2.4 1 2.4 2.4V9.5h4.6a1.6 1.6 0 0 1 1.6 1.9l-1.3 6.8a2.2 2.2 0 0 1-2.2 1.8H7.5",
  ],
  trash: ["M5 7h14M10 7V4.5h4V7", "M7 7l1 13h8l1-13", "M10.5 11v5.5M13.5 11v5.5"],
  upload: ["M12 16V5M7.5 9.5L12 5l4.5 4.5", "M5 16v3.5h14V16"],
};

const NAMESPACE = "http://www.w3.org/2000/svg";

export function icon(name) {
  const svg = document.createElementNS(NAMESPACE, "svg");
  const attributes = {
    viewBox: "0 0 24 24",
    width: "20",
    height: "20",
    fill: "none",
    stroke: "currentColor",
    "aria-hidden": "true",
  };
  for (const [attribute, value] of Object.entries(attributes)) svg.setAttribute(attribute, value);
  svg.setAttribute("class", `icon icon-${name}`);
  for (const line of SHAPES[name]) {
    const path = document.createElementNS(NAMESPACE, "path");
    path.setAttribute("d", line);
    svg.append(path);
  }
  return svg;
}

/** Puts an icon at the beginning of a button, in place of the one it has. */
export function setIcon(button, name) {
  button.querySelector(":scope > svg")?.remove();
  button.prepend(icon(name));
}
