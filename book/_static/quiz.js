// Quizzes work without this script: style alone shows the explanation of the chosen
// answer. Here screen readers are told of it, and a line counts the right answers.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  for (const quiz of document.querySelectorAll(".quiz")) {
    const questions = [...quiz.querySelectorAll(".quiz-question")];
    const score = document.createElement("p");
    score.className = "quiz-score";
    score.setAttribute("role", "status");
    quiz.append(score);

    const tell = (chosen) => {
      const right = questions.filter((question) =>
        question.querySelector('[data-right="true"] input:checked')
      ).length;
      const why = chosen
        ? chosen.closest(".quiz-option").querySelector(".quiz-why").textContent + " "
        : "";
      score.replaceChildren();
      const spoken = document.createElement("span");
      spoken.className = "visually-hidden";
      spoken.textContent = why;
      score.append(spoken, `${right} of ${questions.length} right.`);
    };

    quiz.addEventListener("change", (event) => tell(event.target));
    tell(null);
  }
});
