"""Recipes: training runs and experiments too long for a chapter.

A recipe is a module ``unrolled.recipes.NAME`` that defines

- ``UNITS``, a list of settings, one independent piece of work each;
- ``run_unit(unit)``, which does one and returns what JSON can hold;
- ``summarise(units)``, which draws the results together;
- optionally ``export(folder)``, which writes the models that chapters and labs use.

``unrolled run NAME`` runs it, with a progress bar, from where it was interrupted.
"""
