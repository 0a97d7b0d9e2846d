"""A page read as a browser would: its tags, attributes and the text it shows."""

from html.parser import HTMLParser

INLINE = {"a", "bdi", "code", "em", "small", "span", "strong", "sub", "sup"}


class Reader(HTMLParser):
    """What a browser would find: tags, attributes and the text that is shown."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag, attrs) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        self.text += "" if tag in INLINE else " "

    def handle_endtag(self, tag) -> None:
        self.text += "" if tag in INLINE else " "

    def handle_data(self, data) -> None:
        self.text += "" if self.tags[-1:] == ["style"] else data


def shown(page: str) -> str:
    """Return the text of a page, its blanks made single."""
    return " ".join(Reader(page).text.split())
