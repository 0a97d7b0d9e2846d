"""Print the built book as one PDF: gather its pages, let Chromium print, finish.

``leaves`` reads the built pages in the order of the table of contents, ``quizzes``
moves the answers to the end, ``front`` makes the title page, ``assemble`` makes one
HTML document of them all, ``chromium`` prints it, and ``finish`` reads and completes
what was printed. Here a *leaf* is a page of the book on the web, and a *page* is one of
paper.
"""


class PrintError(Exception):
    """The book cannot be printed, for the reason given."""
