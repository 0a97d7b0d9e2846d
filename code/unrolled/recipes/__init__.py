"""Recipes: training runs and experiments too long for a chapter.

A recipe is a module, ``unrolled.recipes.NAME`` or in a chapter's room, that defines

- ``UNITS``, a list of settings, one independent piece of work each;
- ``run_unit(unit, folder)``, which does one and returns what JSON can hold; what JSON
  cannot hold, such as a checkpoint, it may save in ``folder``, which all units share;
- ``summarise(units)``, which draws the results together;
- optionally ``export(folder, target)``, which makes of what the units saved the models
  that chapters and labs use, and writes them into ``target``.

``unrolled run NAME`` runs it, with a progress bar, from where it was interrupted.
"""
