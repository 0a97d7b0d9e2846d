// The page for those who use keys: folds have a name, sidebars give the focus back, and
// what scrolls inside itself can be reached. Code, tables and equations that are wider
// than their place become groups with a name (regions would be landmarks, dozens of them);
// what fits stays out of the Tab key's way.
"use strict";

// A browser lets no file read another: the search, opened as a file, answers with titles.
if (location.protocol === "file:" && typeof DOCUMENTATION_OPTIONS === "object")
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;

document.addEventListener("DOMContentLoaded", () => {
  // A fold is called what is written on it, not "Toggle hidden content".
  for (const fold of document.querySelectorAll("details.hide > summary[aria-label]"))
    fold.removeAttribute("aria-label");

  // The arrow beside a chapter that has further pages says what it opens.
  for (const arrow of document.querySelectorAll(".bd-links li > details > summary"))
    arrow.setAttribute(
      "aria-label",
      `Further pages of ${arrow.closest("li").querySelector("a").textContent.trim()}`
    );

  // A long name of a module, in the list of contents, breaks after its dots.
  for (const name of document.querySelectorAll(".bd-sidebar-secondary code .pre"))
    for (const part of name.textContent.split(/(?<=[.])(?=\w)/).slice(1).reverse()) {
      const last = name.firstChild.splitText(name.firstChild.length - part.length);
      last.before(document.createElement("wbr"));
    }

  // A sidebar that a phone shows over the page gives the focus back when it closes.
  for (const side of ["primary", "secondary"])
    document
      .getElementById(`pst-${side}-sidebar-modal`)
      ?.addEventListener("close", () =>
        document.querySelector(`button.${side}-toggle`)?.focus()
      );

  const names = [
    ["div.cell_output pre", "Output, scrolls sideways"],
    ["pre", "Code, scrolls sideways"],
    [".pst-scrollable-table-container", "Table, scrolls sideways"],
    ['mjx-container[display="true"]', "Equation, scrolls sideways"],
  ];
  const all = names.map(([what]) => `.bd-article ${what}`).join(", ");

  const look = () => {
    for (const node of document.querySelectorAll(all)) {
      const scrolls = node.scrollWidth > node.clientWidth + 1;
      if (scrolls === (node.dataset.scrolls === "yes")) continue;
      node.dataset.scrolls = scrolls ? "yes" : "no";
      if (!scrolls) {
        for (const name of ["tabindex", "role", "aria-label"]) node.removeAttribute(name);
        continue;
      }
      node.tabIndex = 0;
      node.setAttribute("role", "group");
      node.setAttribute("aria-label", names.find(([what]) => node.matches(what))[1]);
    }
  };

  let due = 0;
  const soon = () => {
    cancelAnimationFrame(due);
    due = requestAnimationFrame(look);
  };
  look();
  addEventListener("resize", soon);
  document.addEventListener("toggle", soon, true); // what is unfolded can be wide
  window.MathJax?.startup?.promise?.then(soon);
  addEventListener("load", () => window.MathJax?.startup?.promise?.then(soon));
});
