"""Quizzes on paper: the questions stay where they are, the answers go to the end."""

from collections.abc import Iterable
from copy import copy
from string import ascii_lowercase

from bs4 import BeautifulSoup, Tag

from .leaves import Leaf

ID = "answers"
TITLE = "Answers"


def part_answers(leaf: Leaf) -> list[Tag]:
    """Take the answers out of the quizzes of a leaf, and return them.

    Each quiz is left with a line that says on which page its answers are.
    """
    return [_part(leaf, quiz) for quiz in leaf.article.select(".quiz[id]")]


def _part(leaf: Leaf, quiz: Tag) -> Tag:
    soup = leaf.soup
    answers = soup.new_tag("ol", id=f"{ID}--{quiz['id']}", attrs={"class": ID})
    for question in quiz.select(".quiz-question"):
        item = soup.new_tag("li")
        item.append(_filled(soup, "p", question.legend, attrs={"class": "asked"}))
        options = []
        for letter, option in zip(
            ascii_lowercase, question.select(".quiz-option"), strict=False
        ):
            right = option.get("data-right") == "true"
            why = option.select_one(".quiz-why").extract()
            why.strong.decompose()  # "Right." or "Not quite."
            line = soup.new_tag("p", attrs={"class": "right" if right else "wrong"})
            line.append(_filled(soup, "strong", f"({letter}) "))
            line.append(_filled(soup, "span", option.label))
            line.append(": ")
            line.append(_filled(soup, "span", why))
            options.append((not right, letter, line))
        item.extend(line for _, _, line in sorted(options, key=lambda o: o[:2]))
        answers.append(item)
    for tag in quiz(["style", "input"]):
        tag.decompose()
    quiz.append(page_line(soup, "The answers are on page ", answers["id"]))
    return answers


def _filled(
    soup: BeautifulSoup, name: str, source: Tag | str, **options: object
) -> Tag:
    tag = soup.new_tag(name, **options)
    if isinstance(source, str):
        tag.string = source
    else:
        tag.extend([copy(child) for child in source.contents])
    return tag


def page_line(soup: BeautifulSoup, words: str, place: str) -> Tag:
    """Return a line that ends in a link with the number of the page of ``place``."""
    line = soup.new_tag("p", attrs={"class": "page-line"})
    link = soup.new_tag("a", href=f"#{place}")
    link.append(page_of(soup, place))
    line.extend([words, link, "."])
    return line


def page_of(soup: BeautifulSoup, place: str) -> Tag:
    """Return an empty number: ``chromium`` fills it when the page is known."""
    return soup.new_tag("span", attrs={"class": "page-of", "data-of": place})


def answers_leaf(found: Iterable[tuple[Leaf, list[Tag]]]) -> Leaf | None:
    """Return a leaf with all answers, chapter by chapter; none if there are none."""
    soup = BeautifulSoup('<article class="bd-article"></article>', "html.parser")
    article, part = soup.article, ""
    article.append(_filled(soup, "h1", TITLE))
    for leaf, answers in found:
        part = leaf.part or part
        if not answers:
            continue
        section = soup.new_tag("section", id=f"{ID}--{leaf.id}")
        section.append(_filled(soup, "h2", leaf.title))
        section.extend(answers)
        article.append(section)
    if not article.section:
        return None
    return Leaf(docname=ID, part=part, soup=soup)
