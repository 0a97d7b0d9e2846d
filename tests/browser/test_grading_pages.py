"""The pages of a graded class in Chromium: they fit, are accessible, and they work.

They are opened as files, as a teacher or student opens them.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from axe import violations
from graded_course import HOSTILE, course_of, record_of
from unrolled.grading.course.feedback import feedback_page
from unrolled.grading.course.manual import manual_page, read_marks
from unrolled.grading.course.records import Course, Mark, Rejected
from unrolled.grading.course.report import report_page

pytestmark = pytest.mark.browser

WIDE, PHONE = 1280, 360
NAMES = ["feedback", "report", "manual"]


def a_class() -> Course:
    """Return a class with all that a page can show, hostile texts among it."""
    alike = " ".join(f"we both wrote the number {n}," for n in range(12))
    records = [
        record_of("Ada", fails=("test_two", "test_random", "whole"), words=alike),
        record_of("Bob", words=alike, seal="changed"),
        record_of("Cyd", words="", empty=("q1",), seal="unsealed", other_edition=True),
        record_of("Dee", ungraded=("test_scale",), words="why\nnot"),
        *(
            record_of(text, words=text, submitted=text, fails=("test_mask",))
            for text in HOSTILE.values()
        ),
    ]
    rejected = [Rejected(file=text, why=text) for text in HOSTILE.values()]
    marks = {
        name: {"q5": Mark(points=1.5, comment=name)}
        for name in ("Bob", *HOSTILE.values())
    }
    return course_of(*records, rejected=tuple(rejected), marks=marks)


def page_of(name: str, course: Course, student: str = "Ada") -> str:
    if name == "feedback":
        (record,) = (one for one in course.records if one.student == student)
        return feedback_page(course, record)
    return {"report": report_page, "manual": manual_page}[name](course)


@pytest.fixture
def visit(open_page, tmp_path) -> Callable[..., Page]:
    """Write a page to a file and open it; what it asks or complains of is an error."""
    seen = []

    def open_one(text: str, width: int = WIDE, theme: str = "light") -> Page:
        path = tmp_path / "page.html"
        path.write_text(text, encoding="utf-8")
        viewport = {"width": width, "height": 800}
        blocked = open_page(viewport=viewport, color_scheme=theme)
        seen.append(blocked)
        blocked.page.goto(path.as_uri())
        return blocked.page

    yield open_one
    for blocked in seen:
        blocked.assert_clean()


def overflow(page: Page) -> int:
    return page.evaluate("document.documentElement.scrollWidth - innerWidth")


# ---- all pages ----


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [PHONE, WIDE])
@pytest.mark.parametrize("name", NAMES)
def test_axe_finds_nothing_and_nothing_scrolls_sideways(visit, name, width, theme):
    page = visit(page_of(name, a_class()), width, theme)
    for fold in page.locator("details:not([open]) > summary").all():
        fold.click()
    assert violations(page) == []
    assert overflow(page) <= 0
    paper = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert paper == {"light": "rgb(255, 255, 255)", "dark": "rgb(18, 18, 18)"}[theme]


@pytest.mark.parametrize("student", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_student_gets_a_page_like_all_others(visit, student):
    page = visit(page_of("feedback", a_class(), student), PHONE)
    assert overflow(page) <= 0
    assert page.title().startswith("Exercise 99: The border: feedback for")
    assert page.locator("script, img, iframe").count() == 0


def test_a_script_that_got_in_all_the_same_does_not_run(open_page, tmp_path):
    bad = "<script>document.title = 'owned'</script><img src=x onerror='this.id=1'>"
    path = tmp_path / "page.html"
    path.write_text(page_of("manual", a_class()).replace("<main", f"{bad}<main"))
    blocked = open_page()
    blocked.page.goto(path.as_uri())
    assert blocked.page.title() != "owned"
    assert any("Content Security Policy" in text for text in blocked.errors)
    expect(blocked.page.get_by_text("of 11 marked")).to_be_visible()  # ours runs


@pytest.mark.parametrize("name", NAMES)
def test_on_paper_it_is_dark_ink_on_light_ground(visit, name):
    page = visit(page_of(name, a_class()), theme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    ink, paper = page.locator("html").evaluate(
        "html => (s => [s.color, s.backgroundColor])(getComputedStyle(html))"
    )
    assert (ink, paper) == ("rgb(31, 35, 40)", "rgb(255, 255, 255)")


# ---- marking ----


def card(page: Page, name: str):
    return page.locator(".answer").filter(has=page.get_by_role("heading", name=name))


def test_marks_go_out_and_come_back(visit, tmp_path):
    course = a_class()
    page = visit(page_of("manual", course))
    page.get_by_role("switch", name="Hide names").uncheck()
    expect(page.get_by_text("9 of 11 marked")).to_be_visible()
    points = page.get_by_role("spinbutton", name="Points, 0 to 4 Ada")
    points.fill("3.5")
    comment = "“Quoted”, <b>bold</b> & שלום\nsecond line"
    page.get_by_role("textbox", name="Comment for the student Ada").fill(comment)
    page.get_by_role("spinbutton", name="Points, 0 to 4 Dee").fill("0")
    expect(page.get_by_text("11 of 11 marked")).to_be_visible()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Export").click()
    assert waiting.value.suggested_filename == "marks-99-border.json"
    path = tmp_path / "marks.json"
    waiting.value.save_as(path)
    expect(page.get_by_role("status")).to_contain_text("Exported 11 marks")
    marks = read_marks(path, course)
    assert marks["Ada"]["q5"] == Mark(points=3.5, comment=comment)
    assert marks["Dee"]["q5"] == Mark(points=0, comment="")
    assert set(marks) == {"Ada", "Bob", "Dee", *HOSTILE.values()}  # to the last byte
    merged = replace(course, marks=marks)
    ada = next(one for one in merged.records if one.student == "Ada")
    assert merged.total(ada) == 13 - 1 - 3 - 1 + 3.5
    text = visit(page_of("feedback", merged)).locator("main").inner_text()
    assert "“Quoted”, <b>bold</b> & שלום\nsecond line" in text


def test_work_is_kept_over_a_reload_and_asked_again_if_the_answer_changed(visit):
    course = course_of(record_of("Ada", words="One."), record_of("Bob", words="Two."))
    page = visit(page_of("manual", course))
    page.get_by_role("switch", name="Hide names").uncheck()
    card(page, "Ada").get_by_role("spinbutton").fill("2.5")
    card(page, "Ada").get_by_role("textbox").fill("Nearly.")
    page.reload()
    expect(page.get_by_role("switch", name="Hide names")).not_to_be_checked()
    expect(card(page, "Ada").get_by_role("spinbutton")).to_have_value("2.5")
    expect(card(page, "Ada").get_by_role("textbox")).to_have_value("Nearly.")
    expect(page.get_by_text("1 of 2 marked")).to_be_visible()
    new = course_of(record_of("Ada", words="Three."), record_of("Bob", words="Two."))
    path = Path(page.url.removeprefix("file://"))
    path.write_text(page_of("manual", new), encoding="utf-8")
    page.reload()
    expect(card(page, "Ada").get_by_role("spinbutton")).to_have_value("")
    expect(card(page, "Ada")).to_contain_text("changed since you read it")
    expect(card(page, "Ada")).to_contain_text("2.5 points. “Nearly.”")
    expect(page.get_by_text("0 of 2 marked")).to_be_visible()
    assert violations(page) == []


@pytest.mark.parametrize("value", ["4.5", "-1", "1.3"])
def test_points_that_cannot_be_right_are_no_mark(visit, value):
    page = visit(page_of("manual", course_of(record_of("Ada"))))
    field = page.get_by_role("spinbutton")
    field.fill(value)
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_text("must be 0 to 4, in halves")).to_be_visible()
    expect(page.get_by_text("0 of 1 marked")).to_be_visible()
    assert violations(page) == []
    field.fill("4")
    expect(field).not_to_have_attribute("aria-invalid", "true")
    expect(page.get_by_text("1 of 1 marked")).to_be_visible()


def test_an_export_says_what_is_not_in_it(visit):
    records = [record_of(name, words=name) for name in ("Ada", "Bob", "Cyd", "Dee")]
    page = visit(page_of("manual", course_of(*records)))
    page.get_by_role("spinbutton").nth(0).fill("1")
    page.get_by_role("spinbutton").nth(1).fill("7")
    page.get_by_role("textbox").nth(2).fill("Hm.")
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Export").click()
    assert len(json.loads(waiting.value.path().read_text("utf-8"))["marks"]) == 1
    expect(page.get_by_role("status")).to_have_text(
        "Exported 1 mark to marks-99-border.json; without a mark: 1 not read, "
        "1 with points that cannot be right, 1 with a comment but no points."
    )


def test_with_names_hidden_no_name_is_seen_and_the_order_is_another(visit):
    names = [f"Student {letter}" for letter in "ABCDEFGH"]
    records = [record_of(name, words=f"Mine: {n}") for n, name in enumerate(names)]
    page = visit(page_of("manual", course_of(*records)))
    heads = page.locator(".answer h3")
    assert heads.all_inner_texts() == [f"Answer {n}" for n in range(1, 9)]
    assert "Student" not in page.locator("main").inner_text()
    hidden = page.locator(".answer pre").all_inner_texts()
    page.get_by_role("switch", name="Hide names").uncheck()
    assert heads.all_inner_texts() == names
    open_order = page.locator(".answer pre").all_inner_texts()
    assert open_order == [f"Mine: {n}" for n in range(8)]
    assert hidden != open_order
    assert sorted(hidden) == open_order


def test_the_keyboard_goes_from_open_answer_to_open_answer(visit):
    records = [record_of(name, words=name) for name in ("Ada", "Bob", "Cyd")]
    page = visit(page_of("manual", course_of(*records)))
    page.get_by_role("switch", name="Hide names").uncheck()
    card(page, "Bob").get_by_role("spinbutton").fill("1")
    card(page, "Ada").get_by_role("spinbutton").focus()
    page.keyboard.type("2")
    page.keyboard.press("Enter")
    expect(card(page, "Cyd").get_by_role("spinbutton")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.type("a")
    page.keyboard.press("Enter")
    page.keyboard.type("b")
    expect(card(page, "Cyd").get_by_role("textbox")).to_have_value("a\nb")
    page.keyboard.press("Shift+Tab")
    page.keyboard.type("3")
    page.keyboard.press("Tab")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("status")).to_contain_text("No other answer")
    page.get_by_role("switch", name="Only unmarked").check()
    expect(page.locator(".answer:visible")).to_have_count(0)


def test_import_takes_what_fits_and_says_what_does_not(visit, tmp_path):
    course = course_of(record_of("Ada", words="One."), record_of("Bob", words="Two."))
    page = visit(page_of("manual", course))
    page.get_by_role("spinbutton").nth(0).fill("1")
    page.get_by_role("spinbutton").nth(1).fill("2")
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Export").click()
    file = json.loads(waiting.value.path().read_text(encoding="utf-8"))
    ada, bob = file["marks"]
    wrong = [ada | {"points": 9}, bob | {"answer": "x"}, ada | {"student": "Eve"}, 7]
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    (fresh / "manual.html").write_text(page_of("manual", course), encoding="utf-8")
    page.goto((fresh / "manual.html").as_uri())  # elsewhere is another course
    expect(page.get_by_text("0 of 2 marked")).to_be_visible()

    def give(text: str) -> None:
        path = tmp_path / "given.json"
        path.write_text(text, encoding="utf-8")
        with page.expect_file_chooser() as chooser:
            page.get_by_role("button", name="Import").click()
        chooser.value.set_files(path)

    give(json.dumps(file | {"marks": [*wrong, ada]}))
    expect(page.get_by_role("status")).to_have_text(
        "Imported 1 mark; left out: 2 for answers that are not here, "
        "1 for answers that have changed since, 1 that cannot be right."
    )
    expect(page.get_by_text("1 of 2 marked")).to_be_visible()
    give("{broken")
    expect(page.get_by_role("status")).to_contain_text("this is no file of marks")
    give(json.dumps(file | {"exercise": "05"}))
    expect(page.get_by_role("status")).to_contain_text("are not for 99-border")
    page.reload()
    expect(page.get_by_text("1 of 2 marked")).to_be_visible()


def test_a_browser_that_keeps_nothing_is_told_of(open_page, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(page_of("manual", course_of(record_of("Ada"))), encoding="utf-8")
    blocked = open_page()
    blocked.page.add_init_script(
        "Storage.prototype.setItem = () => { throw new Error('full'); };"
    )
    blocked.page.goto(path.as_uri())
    blocked.page.get_by_role("spinbutton").fill("1")
    expect(blocked.page.get_by_text("does not keep what you enter")).to_be_visible()
    blocked.assert_clean()
