// The ledger is whole without this script. Here its rows can be filtered; what was
// chosen is kept in the address, so that a view can be linked: #deck=002&words=state.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const form = document.querySelector(".ledger-filters");
  if (!form) return;
  const rows = [...document.querySelectorAll(".ledger tbody tr")];
  const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
  const controls = [...form.querySelectorAll("select, input")];
  const status = form.querySelector("[role=status]");
  const nothing = document.querySelector(".ledger-nothing");

  const fits = (row, { name, value }) => {
    if (!value.trim()) return true;
    if (name === "words") {
      const words = value.toLowerCase().split(/\s+/);
      return words.every((word) => texts.get(row).includes(word));
    }
    const has = row.dataset[name];
    return name === "deck" ? has.split(" ").includes(value) : has === value;
  };

  const show = () => {
    for (const row of rows) row.hidden = !controls.every((one) => fits(row, one));
    const shown = rows.filter((row) => !row.hidden).length;
    status.textContent = `Shown ${shown} of ${rows.length}.`;
    nothing.hidden = shown > 0;
  };

  const remember = () => {
    const chosen = controls.filter((one) => one.value.trim());
    const state = new URLSearchParams(chosen.map((one) => [one.name, one.value.trim()]));
    const here = location.href.split("#")[0];
    history.replaceState(null, "", chosen.length ? `${here}#${state}` : here);
  };

  const choose = (state) => {
    for (const one of controls) {
      const value = state.get(one.name) ?? "";
      one.value = value;
      if (one.value !== value) one.value = ""; // no such choice
    }
    show();
  };

  // An address names a view, or a row; a row that the present view hides ends that view.
  const follow = () => {
    const hash = location.hash.slice(1);
    const row = rows.find((one) => one.id === hash); // ids need no escaping
    const state = new URLSearchParams(hash);
    if (row) {
      if (row.hidden) choose(new URLSearchParams());
      row.scrollIntoView({ behavior: "instant" });
    } else if (!hash || controls.some((one) => state.has(one.name))) {
      choose(state);
      if (hash) form.scrollIntoView({ behavior: "instant" });
    }
  };

  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => (show(), remember()));
  nothing.querySelector("button").addEventListener("click", () => {
    form.elements.words.focus(); // this button goes, and the focus would with it
  });
  form.addEventListener("reset", () => setTimeout(() => (show(), remember())));
  addEventListener("hashchange", follow);
  form.hidden = false;
  show();
  follow();
});
