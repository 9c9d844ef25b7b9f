"""Corpora with a question beside each text, in their published formats, and stories made by the published rules."""

import json
import re

import pytest
from datasets import ClassLabel, Dataset, Features, List, Value

from attest.app.cli.doctor import corpora
from attest.core.errors import AttestError
from attest.datamodules import BabiDataModule, CnnQaDataModule, SnliDataModule
from attest.datamodules.babi import questions_in
from attest.datamodules.encoded import EncodedQuestions
from attest.datamodules.record import fingerprint_of
from attest.datamodules.worlds import told_lines

STORY = """\
1 Mary got the milk there.
2 John moved to the bedroom.
3 Where is the milk? \thallway\t1 2
4 Mary travelled to the hallway.
5 Where is the milk? \tbedroom\t4 1
"""
FIRST = ["Mary", "got", "the", "milk", "there", ".", "John", "moved", "to", "the", "bedroom"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTEST_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture
def public(tmp_path, monkeypatch):
    """A folder laid out as a Hub repository is, and no ATTEST_DATA."""
    monkeypatch.delenv("ATTEST_DATA", raising=False)
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "hf")
    return tmp_path / "repository"


def put(folder, text=STORY * 20, where="babi/tasks_1-20_v1-2/en-10k"):
    """Task 2's files, as the archive has them."""
    (folder / where).mkdir(parents=True)
    for split in ("train", "test"):
        (folder / where / f"qa2_two-supporting-facts_{split}.txt").write_text(text)


def is_first_story(corpus):
    test = corpus.test
    assert test.tokens[0] == FIRST
    assert test.tokens[1] == [*FIRST, ".", "Mary", "travelled", "to", "the", "hallway"]
    assert test.table["question"].to_pylist()[0] == ["Where", "is", "the", "milk"]
    assert corpus.label_names == ("bedroom", "hallway")
    assert test.labels[:2].tolist() == [1, 0]
    assert test.table["rationale"].to_pylist()[0] == [word != "." for word in FIRST]
    assert test.table["rationale"].to_pylist()[1] == [place < 5 or place > 11 for place in range(17)]


@pytest.mark.parametrize("where", ["babi", "babi/en-10k", "babi/tasks_1-20_v1-2/en-10k"])
def test_babi_is_read_as_it_is_published(folder, where):
    put(folder, where=where)
    corpus = BabiDataModule(task=2).corpus
    is_first_story(corpus)
    assert [len(corpus.train), len(corpus.validation), len(corpus.test)] == [36, 4, 40]
    told = {*corpus.train.ids.tolist()} | {*corpus.validation.ids.tolist()}
    assert told == set(range(40))
    assert {*(corpus.validation.ids // 2)}.isdisjoint(corpus.train.ids // 2), "both questions of a story are on one side"
    assert corpus.vocabulary.words == tuple(sorted({*FIRST, "travelled", "hallway", "Where", "is"}))


def test_babi_comes_from_the_hub(public, monkeypatch):
    lines = [
        ("1", 0, "Mary got the milk there.", [], ""),
        ("2", 0, "John moved to the bedroom.", [], ""),
        ("3", 1, "Where is the milk?", ["1", "2"], "hallway"),
        ("4", 0, "Mary travelled to the hallway.", [], ""),
        ("5", 1, "Where is the milk?", ["4", "1"], "bedroom"),
    ]
    names = ("id", "type", "text", "supporting_ids", "answer")
    line = {"id": Value("string"), "type": ClassLabel(names=["context", "question"]), "text": Value("string")}
    features = Features({"story": List(line | {"supporting_ids": List(Value("string")), "answer": Value("string")})})
    rows = {"story": [[dict(zip(names, each, strict=True)) for each in lines]] * 20}
    (public / "en-10k-qa2").mkdir(parents=True)
    for split in ("train", "test"):
        Dataset.from_dict(rows, features=features).to_parquet(public / "en-10k-qa2" / f"{split}.parquet")
    files = "\n".join(f"  - split: {split}\n    path: en-10k-qa2/{split}.parquet" for split in ("train", "test"))
    (public / "README.md").write_text(f"---\nconfigs:\n- config_name: en-10k-qa2\n  data_files:\n{files}\n---\n")
    monkeypatch.setattr(BabiDataModule, "hub", str(public))
    is_first_story(BabiDataModule(task=2).corpus)


@pytest.mark.parametrize(
    "text",
    [
        "1 Mary left.\nWhere?\n",
        "1 Mary left.\n2 Where? \toffice\t3\n",
        "1 Mary left.\n2 John left.\n1 Mary went.\n2 Where? \toffice\t2\n",
        "1 Mary left.\n2 Where? \t\t1\n",
    ],
)
def test_lines_that_are_not_in_the_format_are_named(text, refusal):
    with refusal():
        questions_in(text.splitlines(), "babi.txt")


def test_what_cannot_be_read_says_what_to_type(folder, refusal):
    with pytest.raises(AttestError, match=r"without babi/en-10k/qa1_\*_train\.txt .* DATA=babi-generated"):
        _ = BabiDataModule().corpus
    with refusal():
        _ = BabiDataModule(task=4, stories="generated").corpus
    with pytest.raises(AttestError, match=r"without snli/snli_1\.0_train\.jsonl"):
        _ = SnliDataModule().corpus
    for options in ({"sentences": True}, {"subwords": "some-model"}):
        with pytest.raises(AttestError, match=f"question for each text, but data.init_args.{next(iter(options))}"):
            _ = BabiDataModule(stories="generated", **options).corpus
    with refusal():
        BabiDataModule().documents_of(["Mary left ."])


def test_the_doctor_looks_for_the_published_files(folder):
    (before,) = (each for each in corpora([]) if each.what == "DATA=babi")
    assert "lacks **/qa1_*_train.txt, **/qa1_*_test.txt" in before.found
    (folder / "babi" / "en-10k").mkdir(parents=True)
    for split in ("train", "test"):
        (folder / "babi" / "en-10k" / f"qa1_single-supporting-fact_{split}.txt").write_text(STORY)
    (after,) = (each for each in corpora([]) if each.what == "DATA=babi")
    assert after.verdict == "fine"


@pytest.mark.parametrize("form", ["chen", "hermann"])
def test_the_doctor_finds_either_form_of_cnn(folder, form):
    for split in ("train", "dev", "test"):
        {"chen": chen, "hermann": hermann}[form](folder / "cnn-qa", ARTICLES[:1], split)
    (found,) = (each for each in corpora([]) if each.what == "DATA=cnn-qa")
    assert found.verdict == "fine"


PAIRS = [
    ("A man in  Boots rides 2 horses.", "A person rides.", "entailment"),
    ("A man in boots rides horses.", "The man sleeps.", "contradiction"),
    ("A dog runs.", "A dog runs home.", "-"),
    ("A dog runs.", "A dog hunts a man.", "neutral"),
]


def is_snli(module):
    corpus = module.corpus
    assert corpus.label_names == ("neutral", "contradiction", "entailment")
    for split in (corpus.train, corpus.validation, corpus.test):
        assert split.labels.tolist() == [2, 1, 0]
        assert split.ids.tolist() == [0, 1, 3], "pairs that are left out are counted"
    assert corpus.test.tokens[0] == ["a", "man", "in", "boots", "rides", "qqq", "horses", "."]
    assert corpus.test.table["question"].to_pylist()[2] == ["a", "dog", "hunts", "a", "man", "."]
    assert corpus.vocabulary.words == (".", "a", "man", "rides"), "words of three premises or hypotheses"
    assert module.test.question_of(1) == ["the", "man", "sleeps", "."]


def test_snli_is_read_as_it_is_published(folder, refusal):
    (folder / "snli").mkdir()
    fields = ("sentence1", "sentence2", "gold_label")
    lines = [json.dumps(dict(zip(fields, pair, strict=True)) | {"pairID": "1", "captionID": "2"}) for pair in PAIRS]
    for split in ("train", "dev", "test"):
        (folder / "snli" / f"snli_1.0_{split}.jsonl").write_text("\n".join(lines) + "\n")
    is_snli(SnliDataModule())
    (folder / "snli" / "snli_1.0_dev.jsonl").write_text(lines[0] + '\n{"sentence1": "A dog."}\n')
    with refusal():
        _ = SnliDataModule().corpus
    (folder / "snli" / "snli_1.0_dev.jsonl").write_text(lines[0].replace("entailment", "maybe"))
    with refusal():
        _ = SnliDataModule().corpus


def test_snli_comes_from_the_hub(public, monkeypatch):
    numbers = {"entailment": 0, "neutral": 1, "contradiction": 2, "-": -1}
    rows = [{"premise": first, "hypothesis": second, "label": numbers[label]} for first, second, label in PAIRS]
    features = {"premise": Value("string"), "hypothesis": Value("string"), "label": ClassLabel(names=list(numbers)[:3])}
    (public / "data").mkdir(parents=True)
    for split in ("train", "validation", "test"):
        Dataset.from_list(rows, Features(features)).to_parquet(public / "data" / f"{split}-00000-of-00001.parquet")
    monkeypatch.setattr(SnliDataModule, "hub", str(public))
    is_snli(SnliDataModule())


ARTICLES = [
    ("@placeholder met @entity7", "@entity10", "@entity2 saw @entity10 and @entity7 . @entity10 left", "10 2 7"),
    ("@entity2 lost to @placeholder", "@entity2", "( cnn ) -- @entity2 won", "2"),
    ("who met @placeholder", "@entity7", "nobody met @entity2", "2"),
    ("who met @placeholder", "@entity99", "nobody met @entity99 but @entity2", "2"),
]
"""Question, answer, article and its known entities; the answers of the last two are not in the article, or not in training."""
NAMES = ("@entity10", "@entity2", "@entity7")


def chen(folder, articles, split):
    """As Chen et al. have them."""
    blocks = ["\n".join([question, answer, passage, "@entity2:Ann Bee"]) for question, answer, passage, _ in articles]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{split}.txt").write_text("\n\n".join(blocks) + "\n\n")


def hermann(folder, articles, split):
    """As Hermann et al. have them."""
    folder = folder / "questions" / {"train": "training", "dev": "validation"}.get(split, split)
    folder.mkdir(parents=True)
    for count, (question, answer, passage, _) in enumerate(articles):
        parts = ["http://web/1.html", passage, question, answer, "@entity2:Ann Bee\n@entity7:Cid"]
        (folder / f"{count:02}a.question").write_text("\n\n".join(parts))


@pytest.mark.parametrize("written", [chen, hermann])
def test_cnn_is_read_as_it_is_published(folder, written, capsys):
    written(folder / "cnn-qa", ARTICLES[:2] * 8, "train")
    for split in ("dev", "test"):
        written(folder / "cnn-qa", ARTICLES, split)
    module = CnnQaDataModule()
    corpus = module.corpus
    assert corpus.label_names == NAMES
    assert (len(corpus.train), len(corpus.validation), len(corpus.test)) == (16, 2, 2)
    assert "cnn-qa: 2 of 4 questions of the test split are left out" in capsys.readouterr().out
    assert corpus.test.tokens[1] == ["(", "cnn", ")", "--", "@entity2", "won"]
    assert corpus.test.table["question"].to_pylist()[0] == ["@placeholder", "met", "@entity7"]
    for documents in (corpus.train, corpus.test):
        for row, label in enumerate(documents.labels):
            _, answer, _, named = ARTICLES[documents.ids[row] % 2]
            assert NAMES[label] == answer
            candidates = documents.table["candidates"][row].as_py()
            assert sorted(NAMES[each] for each in candidates) == [f"@entity{each}" for each in named.split()]
    frequent = {"and", "saw", ".", "left", "(", "cnn", ")", "--", "won", "met", "lost", "to", "@placeholder"}
    assert set(corpus.vocabulary.words) == {*NAMES, *frequent}
    (first, second), vocabulary = module.test.__getitems__([0, 1])["token_ids"].tolist(), module.vocabulary
    size = len(vocabulary)
    assert first[-6:] == [size, size + 1, size + 2, *vocabulary.encode(["@placeholder", "met", "@entity7"])]
    assert second[-6:] == [0, size + 1, *vocabulary.encode(["@entity2", "lost", "to", "@placeholder"])]


def test_another_candidate_is_another_corpus(folder):
    for split in ("train", "dev", "test"):
        chen(folder / "cnn-qa", ARTICLES[:2], split)
    documents = CnnQaDataModule(min_df=1).corpus.test
    place = documents.table.column_names.index("candidates")
    other = type(documents)(documents.table.set_column(place, "candidates", [[[0, 1, 2], [1, 2]]]))
    assert fingerprint_of(other) != fingerprint_of(documents)


@pytest.mark.parametrize(
    "block",
    [
        "who met @placeholder\n@entity2",
        "nobody met @entity2\nwho met @placeholder\n@entity2",
    ],
)
def test_cnn_files_in_another_format_are_named(folder, block, refusal):
    for split in ("train", "dev", "test"):
        chen(folder / "cnn-qa", ARTICLES[:2], split)
    with (folder / "cnn-qa" / "train.txt").open("a") as file:
        file.write(block)
    with refusal():
        _ = CnnQaDataModule().corpus


def test_where_cnn_is_not_it_says_where_to_get_it(folder, monkeypatch, refusal):
    with refusal():
        _ = CnnQaDataModule().corpus
    monkeypatch.delenv("ATTEST_DATA")
    with refusal():
        _ = CnnQaDataModule().corpus


def small(**options):
    return BabiDataModule(stories="generated", train_questions=60, test_questions=20, **options)


def test_rows_are_text_padding_and_question():
    module = small()
    test, vocabulary = module.test, module.vocabulary
    assert isinstance(test, EncodedQuestions)
    rows = [0, 4, 7]
    batch = test.__getitems__(rows)
    longest = max(len(test.tokens_of(row)) for row in rows)
    assert batch["token_ids"].shape == batch["mask"].shape == batch["rationale"].shape == (3, longest + 3)
    for ids, mask, rationale, row in zip(batch["token_ids"], batch["mask"], batch["rationale"], rows, strict=True):
        words = test.tokens_of(row)
        assert ids[mask].tolist() == vocabulary.encode(words)
        assert ids[-3:].tolist() == vocabulary.encode(test.question_of(row))
        assert not ids[len(words) : -3].any()
        assert mask.tolist() == [True] * len(words) + [False] * (longest + 3 - len(words))
        assert not rationale[~mask].any()
        supporting = " ".join(word for word, supports in zip(words, rationale, strict=False) if supports)
        name, place = test.question_of(row)[-1], module.label_names[module.corpus.test.labels[row]]
        assert re.fullmatch(rf"{name} .* to the {place}", supporting)


def test_shorter_questions_end_with_the_row():
    module = small(task=3)
    documents = module.corpus.test
    questions = documents.table["question"].to_pylist()
    questions[1] = questions[1][:2]
    table = documents.table.set_column(documents.table.column_names.index("question"), "question", [questions])
    encoded = EncodedQuestions(type(documents)(table), module.vocabulary)
    ids = encoded.__getitems__([0, 1])["token_ids"]
    assert ids[1, -2:].tolist() == module.vocabulary.encode(questions[1])
    assert not ids[1, len(encoded.tokens_of(1)) : -2].any()


def test_another_question_is_another_corpus():
    documents = small().corpus.test
    place = documents.table.column_names.index("question")
    asked = [["Where", "is", "nobody"], *documents.table["question"].to_pylist()[1:]]
    other = type(documents)(documents.table.set_column(place, "question", [asked]))
    assert fingerprint_of(other) != fingerprint_of(documents)


MOVE = re.compile(r"(\w+) (?:moved to|went to|went back to|journeyed to|travelled to) the (\w+)\.")
TAKE = re.compile(r"(\w+) (?:got|picked up|took|grabbed) the (\w+)(?: there)?\.")
DROP = re.compile(r"(\w+) (?:dropped|discarded|put down|left) the (\w+)(?: there)?\.")


def replayed(lines):
    """Who and what is where after each line, told by a reader that shares no code with the simulation."""
    people, holder, places = {}, {}, {}
    for line in lines:
        _, text = line.split(" ", 1)
        if text.startswith("Where"):
            yield text, dict(people), {thing: list(rooms) for thing, rooms in places.items()}
            continue
        if move := MOVE.fullmatch(text):
            people[move[1]] = move[2]
            for thing, person in holder.items():
                if person == move[1]:
                    places[thing].append(move[2])
        elif take := TAKE.fullmatch(text):
            assert take[2] not in holder, "nobody takes what somebody holds"
            room = people[take[1]]
            assert places.setdefault(take[2], [room])[-1] == room, "nobody takes what is elsewhere"
            holder[take[2]] = take[1]
        else:
            dropped = DROP.fullmatch(text)
            assert dropped, text
            assert holder.pop(dropped[2]) == dropped[1], "nobody drops what another holds"


def stories_of(task, questions=400, seed=0):
    stories = []
    for line in told_lines(task, questions, seed, "train"):
        if line.startswith("1 "):
            stories.append([])
        stories[-1].append(line)
    return stories


@pytest.mark.parametrize("task", [1, 2, 3])
def test_told_stories_are_consistent_and_their_answers_right(task):
    asked = 0
    for story in stories_of(task):
        for text, people, places in replayed(story):
            question, answer, _ = (part.strip() for part in text.split("\t"))
            words = question.removesuffix("?").split()
            if task == 1:
                expected = people[words[-1]]
            elif task == 2:
                expected = places[words[-1]][-1]
            else:
                rooms = places[words[3]]
                expected = rooms[max(place for place, room in enumerate(rooms) if place and room == words[-1]) - 1]
            assert answer == expected
            asked += 1
    assert asked == 400


@pytest.mark.parametrize(("task", "facts"), [(1, 1), (2, 2), (3, 3)])
def test_supporting_facts_alone_give_the_answer(task, facts):
    """With every other statement gone, the reader of ``replayed`` comes to the same answer wherever it can be told."""
    for story in stories_of(task):
        for line in story:
            if "\t" not in line:
                continue
            question, answer, numbers = (part.strip() for part in line.split(" ", 1)[1].split("\t"))
            supporting = [int(number) for number in numbers.split()]
            assert len(set(supporting)) == facts
            told = [story[number - 1].split(" ", 1)[1] for number in sorted(supporting)]
            moves = [MOVE.fullmatch(text) for text in told]
            rooms = [move[2] for move in moves if move]
            people = {move[1] for move in moves if move} | {
                found[1] for text in told for found in (TAKE.fullmatch(text), DROP.fullmatch(text)) if found
            }
            assert len(people) == 1, "one person did it all"
            if task == 3:
                assert [TAKE.fullmatch(text) is not None for text in told].count(True) == 1
                assert rooms[0] == answer
                assert question.endswith(f"before the {rooms[1]}?")
            else:
                assert rooms[-1] == answer


def test_the_words_of_the_three_tasks_are_the_published_vocabulary():
    words = {
        word
        for task in (1, 2, 3)
        for line in told_lines(task, 2000, 0, "train")
        for word in re.findall(r"[A-Za-z]+", line.split("\t")[0])
    }
    assert len(words | {"."}) + 4 == 40, "with padding, unknown and the two boundaries"


def test_stories_depend_on_seed_and_split_alone():
    assert list(told_lines(2, 50, 0, "train")) == list(told_lines(2, 50, 0, "train"))
    assert list(told_lines(2, 50, 0, "train")) != list(told_lines(2, 50, 1, "train"))
    assert list(told_lines(2, 50, 0, "train")) != list(told_lines(2, 50, 0, "test"))
    assert sum("\t" in line for line in told_lines(1, 7, 0, "test")) == 7
