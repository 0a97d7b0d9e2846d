"""A room for each chapter: what that chapter alone needs.

``unrolled.chapters.cNN_name`` holds the experiments (recipes, see
:mod:`unrolled.recipes`), figures, lab data and quiz of chapter NN, and nothing that
another chapter uses. Its pages and its tests import it, and nothing else does; a room
imports the layers below. ``make chapter N=07 NAME=lstm`` makes one.
:mod:`unrolled.chapters.pages` lists the pages of all chapters.
"""
