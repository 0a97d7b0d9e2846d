"""The table of homes: famous data and weights, where they live and whose they are.

The book never needs any of this: its own data are in `unrolled.data.fetch.sources`.
What is here is for a reader with a network who wants to run a chapter on a set that
papers use. Every file is pinned by sha256 and, where its home keeps a history, by the
commit in its address. The digests are from public records, or reckoned from a copy of
the home's repository; the addresses are untested against the homes themselves from the
build machine, which has no way out.
"""

from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass(frozen=True, kw_only=True, slots=True)
class HomeFile:
    """A file at its home: where, how many bytes, and the sha256 it must have."""

    url: str
    size: int
    sha256: str

    @property
    def filename(self) -> str:
        """Return the last part of the address: the name it has on the disk."""
        return urlsplit(self.url).path.rpartition("/")[2]


@dataclass(frozen=True, kw_only=True, slots=True)
class Home:
    """A set of files that lives elsewhere, with its licence and citation."""

    name: str
    files: tuple[HomeFile, ...]
    licence: str
    citation: str

    @property
    def size(self) -> int:
        """Return the bytes of all its files together."""
        return sum(file.size for file in self.files)


def _files(folder: str, lines: str) -> tuple[HomeFile, ...]:
    """Read a little table of file name, size and sha256, all under ``folder``."""
    words = iter(lines.split())
    return tuple(
        HomeFile(url=f"{folder}/{name}", size=int(size), sha256=sha256)
        for name, size, sha256 in zip(words, words, words, strict=True)
    )


def _git(repository: str, commit: str, folder: str, lines: str) -> tuple[HomeFile, ...]:
    """Return files of a public git repository as they were at ``commit``."""
    root = f"https://raw.githubusercontent.com/{repository}/{commit}"
    return _files("/".join(filter(None, (root, folder))), lines)


def _hub(repository: str, commit: str, folder: str, lines: str) -> tuple[HomeFile, ...]:
    """Return files of the model hub's repository as they were at ``commit``."""
    root = f"https://huggingface.co/{repository}/resolve/{commit}"
    return _files("/".join(filter(None, (root, folder))), lines)


_ALL = (
    Home(
        name="tiny_shakespeare",
        files=_git(
            "karpathy/char-rnn",
            "6f9487a6fe5b420b7ca9afb0d7c078e37c1d1b4e",
            "data/tinyshakespeare",
            """input.txt 1115394
            86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed""",
        ),
        licence="MIT (repository); the plays are in the public domain",
        citation="A. Karpathy, char-rnn, 2015; William Shakespeare, 40,000 lines",
    ),
    Home(
        name="wikitext2",
        files=_hub(
            "datasets/Salesforce/wikitext",
            "b08601e04326c79dfdd32d625aee71d232d685c3",
            "wikitext-2-raw-v1",
            """train-00000-of-00001.parquet 6357543
            e83889baabc497075506f91975be5fac0d45c5290b6b20582c8cd1e853d0c9f7
            validation-00000-of-00001.parquet 657209
            204929b7ff9d6184953f867dedb860e40aa69c078fc1e54b3baaa8fb28511c4c
            test-00000-of-00001.parquet 732610
            5f1bea067869d04849c0f975a2b29c4ff47d867f484f5010ea5e861eab246d91""",
        ),
        licence="CC BY-SA 3.0 and GFDL",
        citation="S. Merity et al., Pointer Sentinel Mixture Models, ICLR 2017",
    ),
    Home(
        name="imdb",
        files=_files(
            "https://ai.stanford.edu/~amaas/data/sentiment",
            """aclImdb_v1.tar.gz 84125825
            c40f74a18d3b61f90feba1e17730e0d38e8b97c05fde7008942e91923d1658fe""",
        ),
        licence="none stated; the reviews are their authors', collected for research",
        citation="A. L. Maas et al., Learning Word Vectors for Sentiment, ACL 2011",
    ),
    # The zip at www.manythings.org/anki is made anew every few weeks, so that no digest
    # of it stays true: this is a copy of the one of 29 September 2017, in a repository.
    Home(
        name="tatoeba",
        files=_git(
            "genimind/seq2seq",
            "843b8bc40396fbea4ac9171097122aacfc8b9660",
            "",
            """fra-eng.zip 2951390
            16c4f7d0df9e7c5e6c54cdb0447f3f4a18a55052ff5e2e0b27dd4a06c0e49d04""",
        ),
        licence="CC BY 2.0",
        citation="The contributors of tatoeba.org, by www.manythings.org/anki, 2017",
    ),
    Home(
        name="multi30k",
        files=_git(
            "multi30k/dataset",
            "a3d2e0d26b56f3846f66a952536ffed4e401d05a",
            "data/task1/raw",
            """train.en.gz 568929
            d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f
            train.fr.gz 604242
            622e75069e9f4c577425c4f277116ce66e63a2401c0a2312d90073cb12379a3c
            val.en.gz 21650
            14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28
            val.fr.gz 23001
            ca3106f1a72390591d25f6c45cb4cd39dec4cd3f123e099748a3ce5256c160e9
            test_2016_flickr.en.gz 21077
            611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9
            test_2016_flickr.fr.gz 22310
            6d326e188d259fb1d04ac19eae3af956559b3a0b93d7635e56c90987c40c8b90""",
        ),
        licence="none stated; says that it is for non-commercial research and teaching",
        citation="D. Elliott et al., Multi30K, VL 2016; in French: WMT 2017",
    ),
    Home(
        name="ewt",
        files=_git(
            "UniversalDependencies/UD_English-EWT",
            "b33472d3ce50a62056d6057f1b8a723e9d211176",  # release 2.10
            "",
            """en_ewt-ud-train.conllu 13686411
            e6a3784727e7726d4f1c2e10ff22dcd0ddeb8869ad6f85b73bb1ff5ef798e944
            en_ewt-ud-dev.conllu 1738438
            ef962ac05d844eaff46eeded125937129bfc0876d43963d66810cb73ffa8f5df
            en_ewt-ud-test.conllu 1738935
            465100c5b6fb606725068dc70680d65cc047fbb4ae25195375618bc6353a4e58""",
        ),
        licence="CC BY-SA 4.0 (annotation)",
        citation="N. Silveira et al., A Gold Standard Dependency Corpus, LREC 2014",
    ),
    Home(
        name="bert",
        files=_hub(
            "google-bert/bert-base-uncased",
            "86b5e0934494bd15c9632b12f734a8a67f723594",
            "",
            """config.json 570
            7160e1553ad2ca51d8c1cb066be533db31826e12d173824c1bb0cb1a4f187d20
            vocab.txt 231508
            07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3
            model.safetensors 440449768
            68d45e234eb4a928074dfd868cead0219ab85354cc53d20e772753c6bb9169d3""",
        ),
        licence="Apache-2.0",
        citation="J. Devlin et al., BERT, NAACL 2019 (bert-base-uncased)",
    ),
    Home(
        name="gpt2",
        files=_hub(
            "openai-community/gpt2",
            "607a30d783dfa663caf39e06633721c8d4cfcd7e",
            "",
            """config.json 665
            0daed7749b4f02b8f76240d5444551d7b08712dab4d0adb8239c56ba823bb7b4
            vocab.json 1042301
            196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783
            merges.txt 456318
            1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5
            model.safetensors 548105171
            248dfc3911869ec493c76e65bf2fcf7f615828b0254c12b473182f0f81d3a707""",
        ),
        licence="MIT",
        citation="A. Radford et al., Language Models are Unsupervised Learners, 2019",
    ),
)

HOMES = {home.name: home for home in _ALL}
