"""The mutation report as a page that needs nothing else."""

from jinja2 import Environment

from unrolled.grading.exports.mutation import MutationReport

_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Mutation report: {{ exercise.name }}</title>
<style>
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto;
  padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
caption, th, td { text-align: left; vertical-align: top; padding: .3rem .6rem; }
th, td { border-bottom: 1px solid #767676; }
pre { overflow-x: auto; }
</style>
</head>
<body>
<main>
<h1>Mutation report: {{ exercise.title }}</h1>
<p>For instructors only: it holds solutions and hidden tests. {{ summary }}</p>
{% for id, question in questions %}
<h2>{{ id }}: {{ question.title }} ({{ question.points }} points)</h2>
<table>
<caption>Answers to {{ id }}, and the tests that reject them</caption>
<thead><tr><th scope="col">Answer</th><th scope="col">Earns</th>
<th scope="col">Hidden tests that reject it</th>
<th scope="col">Also</th></tr></thead>
<tbody>
{% for trial in trials if trial.question == id %}
<tr><th scope="row">{{ trial.label }}
<details><summary>code</summary>
<pre tabindex="0">{{ trial.code }}</pre></details></th>
<td>{{ trial.earned }} of {{ trial.points }}</td>
<td>{{ trial.hidden|join(", ") or "none" }}{% if trial.fault %}
<strong>FAULT: {{ trial.fault }}</strong>{% endif %}</td>
<td>{{ trial.others|join(", ") or "none" }}</td></tr>
{% endfor %}
</tbody>
</table>
{% endfor %}
</main>
</body>
</html>
"""


def mutation_page(report: MutationReport) -> str:
    """Return the report as one HTML page, with the code of each answer."""
    page = Environment(autoescape=True).from_string(_PAGE)
    return page.render(
        exercise=report.exercise,
        summary=report.summary,
        questions=[(question.id, question) for question in report.exercise.coded()],
        trials=report.trials,
    )
