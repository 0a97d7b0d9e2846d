// Paper is light: a page that is read in the dark is printed in the light colours.
"use strict";

(() => {
  const root = document.documentElement;
  let theme = null;
  addEventListener("beforeprint", () => {
    theme = root.dataset.theme;
    root.dataset.theme = "light";
  });
  addEventListener("afterprint", () => {
    if (theme !== null) root.dataset.theme = theme;
  });
})();
