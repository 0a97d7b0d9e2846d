"use strict";
// Marks live in the fields, and a copy of them in the browser's storage under `key`.
(() => {
  const page = document.querySelector("main");
  const cards = [...document.querySelectorAll(".answer")];
  const byId = (id) => document.getElementById(id);
  if (!byId("export")) return; // nothing to mark

  // Pages in two folders are two courses, though a browser may see one origin.
  const key = `${page.dataset.key}:${location.pathname}`;
  const nameOf = (card) =>
    JSON.stringify([card.dataset.question, JSON.parse(card.dataset.student)]);
  const fields = (card) => [
    card.querySelector("input[type=number]"),
    card.querySelector("textarea"),
  ];

  // ---- keeping ----

  function stored() {
    try {
      const found = JSON.parse(localStorage.getItem(key)) ?? {};
      return { marks: {}, ...found };
    } catch {
      return { marks: {} };
    }
  }

  function store(change) {
    const all = stored(); // another tab may have added to it
    change(all);
    try {
      localStorage.setItem(key, JSON.stringify(all));
      byId("unkept").hidden = true;
    } catch {
      byId("unkept").hidden = false;
    }
  }

  function keep(card) {
    const [points, comment] = fields(card);
    store((all) => {
      all.marks[nameOf(card)] = {
        points: points.value,
        comment: comment.value,
        answer: card.dataset.answer,
      };
    });
  }

  function fill(card, mark) {
    const [points, comment] = fields(card);
    points.value = mark.points;
    comment.value = mark.comment;
  }

  function recall() {
    const all = stored();
    for (const card of cards) {
      const mark = all.marks[nameOf(card)];
      if (!mark || card.contains(document.activeElement)) continue;
      if (mark.answer === card.dataset.answer) fill(card, mark);
      else if (mark.points !== "" || mark.comment !== "") {
        const note = card.querySelector(".stale");
        const said = mark.comment ? ` “${mark.comment}”` : "";
        note.textContent =
          "This answer has changed since you read it. You had given " +
          `${mark.points === "" ? "no" : mark.points} points.${said}`;
        note.hidden = false;
      }
    }
    byId("anonymous").checked = all.anonymous ?? true;
  }

  // ---- showing ----

  function stateOf(card) {
    const [points] = fields(card);
    if (!points.validity.valid) return "wrong";
    return points.value === "" ? "open" : "marked";
  }

  const WORDS = { open: "not marked", marked: "marked" };
  const SIGNS = { open: "empty", marked: "passed", wrong: "failed" };

  function show(card) {
    const state = stateOf(card);
    const [points] = fields(card);
    const text = WORDS[state] ?? `must be 0 to ${points.max}, in halves`;
    const sign = card.querySelector(".state");
    card.dataset.state = state;
    sign.className = `sign state ${SIGNS[state]}`;
    if (sign.textContent !== text) sign.textContent = text;
    if (state === "wrong") points.setAttribute("aria-invalid", "true");
    else points.removeAttribute("aria-invalid");
  }

  function count() {
    const n = cards.filter((card) => card.dataset.state === "marked").length;
    byId("progress").textContent = `${n} of ${cards.length} marked`;
    document.querySelector("progress").value = n;
  }

  function arrange() {
    const hidden = byId("anonymous").checked;
    const rank = (card) => Number(card.dataset[hidden ? "place" : "order"]);
    for (const pile of document.querySelectorAll(".answers")) {
      const own = cards.filter((card) => pile.contains(card));
      own.sort((a, b) => rank(a) - rank(b));
      for (const card of own) {
        card.querySelector(".name").hidden = hidden;
        card.querySelector(".number").hidden = !hidden;
        pile.append(card);
      }
    }
  }

  function sift() {
    const only = byId("unmarked").checked;
    for (const card of cards) card.hidden = only && card.dataset.state === "marked";
  }

  function showAll() {
    cards.forEach(show);
    count();
  }

  function say(text) {
    byId("said").textContent = text;
  }

  const marks = (n) => (n === 1 ? "1 mark" : `${n} marks`);

  function listed(words, counts) {
    const some = counts.filter(([n]) => n).map(([n, what]) => `${n} ${what}`);
    return some.length ? `${words}: ${some.join(", ")}.` : ".";
  }

  // ---- working ----

  function next(card) {
    const order = [...document.querySelectorAll(".answer")];
    const at = order.indexOf(card);
    const rest = [...order.slice(at + 1), ...order.slice(0, at)];
    const open = rest.find((one) => one.dataset.state !== "marked");
    if (!open) {
      sift();
      say("No other answer is without a mark.");
      return;
    }
    open.hidden = false;
    fields(open)[0].focus({ preventScroll: true });
    sift();
    open.scrollIntoView({ block: "start" });
  }

  function exported() {
    const marked = cards
      .filter((card) => card.dataset.state === "marked")
      .map((card) => ({
        student: JSON.parse(card.dataset.student),
        question: card.dataset.question,
        answer: card.dataset.answer,
        points: Number(fields(card)[0].value),
        comment: fields(card)[1].value,
      }));
    const order = (mark) => JSON.stringify([mark.question, mark.student]);
    marked.sort((a, b) => (order(a) < order(b) ? -1 : 1));
    const { format, exercise } = page.dataset;
    return { format, exercise, marks: marked };
  }

  function download() {
    const all = exported();
    const text = `${JSON.stringify(all, null, 1)}\n`;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    link.download = `marks-${page.dataset.exercise}.json`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    const left = cards.length - all.marks.length;
    const wrong = cards.filter((card) => card.dataset.state === "wrong").length;
    const only = cards.filter(
      (card) => card.dataset.state === "open" && fields(card)[1].value !== "",
    ).length;
    say(
      `Exported ${marks(all.marks.length)} to ${link.download}` +
        listed("; without a mark", [
          [left - wrong - only, "not read"],
          [wrong, "with points that cannot be right"],
          [only, "with a comment but no points"],
        ]),
    );
  }

  function take(text) {
    let file;
    try {
      file = JSON.parse(text);
    } catch {
      file = null;
    }
    const { format, exercise } = page.dataset;
    if (file?.format !== format || !Array.isArray(file.marks)) {
      return say("Nothing was imported: this is no file of marks.");
    }
    if (file.exercise !== exercise) {
      return say(`Nothing was imported: these marks are not for ${exercise}.`);
    }
    const there = new Map(cards.map((card) => [nameOf(card), card]));
    let [taken, unknown, changed, wrong] = [0, 0, 0, 0];
    for (const mark of file.marks) {
      const card = there.get(JSON.stringify([mark?.question, mark?.student]));
      if (!card) unknown += 1;
      else if (mark.answer !== card.dataset.answer) changed += 1;
      else if (!good(mark, card)) wrong += 1;
      else {
        fill(card, { points: String(mark.points), comment: mark.comment ?? "" });
        keep(card);
        taken += 1;
      }
    }
    showAll();
    sift();
    say(
      `Imported ${marks(taken)}` +
        listed("; left out", [
          [unknown, "for answers that are not here"],
          [changed, "for answers that have changed since"],
          [wrong, "that cannot be right"],
        ]),
    );
  }

  function good(mark, card) {
    const most = Number(fields(card)[0].max);
    const { points, comment } = mark;
    return (
      typeof points === "number" &&
      points >= 0 &&
      points <= most &&
      ["string", "undefined"].includes(typeof comment)
    );
  }

  for (const card of cards) {
    const [points, comment] = fields(card);
    for (const field of [points, comment]) {
      field.addEventListener("input", () => {
        show(card);
        count();
        keep(card);
      });
      field.addEventListener("keydown", (event) => {
        const go = field === points || event.ctrlKey || event.metaKey;
        if (event.key !== "Enter" || !go || event.isComposing) return;
        event.preventDefault();
        next(card);
      });
    }
    // A wheel that scrolls the page must not change a mark on its way.
    points.addEventListener("wheel", () => points.blur(), { passive: true });
  }
  byId("anonymous").addEventListener("change", () => {
    store((all) => (all.anonymous = byId("anonymous").checked));
    arrange();
  });
  byId("unmarked").addEventListener("change", sift);
  byId("export").addEventListener("click", download);
  byId("import").addEventListener("click", () => byId("file").click());
  byId("file").addEventListener("change", async (event) => {
    const [file] = event.target.files;
    if (file) take(await file.text());
    event.target.value = ""; // so that the same file can be taken again
  });
  window.addEventListener("storage", (event) => {
    if (event.key !== key) return;
    recall();
    showAll();
  });

  recall();
  arrange();
  showAll();
  sift();
})();
