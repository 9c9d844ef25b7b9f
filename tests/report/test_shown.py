"""The first screen of a page: which texts it shows and how, its readings, and where the explanation is right."""

import re

import numpy as np
import pandas as pd
import pytest

from attest.core.kinds import NUMBER, TAGS
from attest.experiments.verdict import IN_PART, NO, YES, Share, Verdict
from attest.report.findings import Findings
from attest.report.groupings import GROUP, _groupings, groupings_of
from attest.report.pictures import alone_of
from attest.report.shown import (
    Drawn,
    bracketed,
    elided,
    first_screen,
    quoted,
    shown_texts,
    strip_of,
    terminal_lines,
    texts_with,
    with_judged,
)
from attest.report.templating import ENVIRONMENT
from attest.runs.folder import write_table
from tests.report.made import made_run

CLASSES = ["blame", "praise"]


def text(identity, words, first, decides, right, alone=(0.9, 0.95, 0.5), **columns):
    """A row of the table of texts and one of E19's; ``alone``: of the first words, the deciding ones, and no word."""
    tokens = words.split()
    marks = {
        name: np.array([float(token in each.split()) for token in tokens])
        for name, each in (("first", first), ("decides", decides))
    }
    instance = {"id": identity, "tokens": tokens, "attention": 0.1 + marks["first"], "predicted": 0, "label": 0} | columns
    with_first, with_words, without = alone
    measured = {"with_first": with_first, "with_words": with_words, "without_words": without, "words": len(decides.split())}
    return instance, {"id": identity, "right": float(right), "needs_words": 1.0, "matter": marks["first"], **marks, **measured}


def joined(*rows):
    instances, measured = zip(*rows, strict=True)
    return texts_with(pd.DataFrame(measured), pd.DataFrame(instances), CLASSES)


WRONG = [
    text(1, "the plot is not dull .", "is", "not dull", False, (0.5, 0.9, 0.4)),
    text(2, "the plot is not grim .", "is", "not grim", False, (0.5, 0.99, 0.4)),
    text(3, "the plot is not vile .", "is not", "not vile", False, (0.1, 0.99, 0.1)),
]
RIGHT = [
    text(5, "the end is good .", "good", "good", True, (0.9, 0.9, 0.5)),
    text(4, "the end is fine .", "is fine", "fine", True, (0.99, 0.99, 0.1)),
]


def test_one_text_of_each_outcome_and_a_typical_one_are_shown_by_rule():
    shown = shown_texts(joined(*WRONG, *RIGHT))
    assert [(each.role, each.identity) for each in shown] == [("Wrong", 2), ("Right", 5), ("Typical", 1)]
    assert shown[2].stands_for == "wrong, as in 3 of 5"
    wrong, right, _ = shown
    assert (wrong.marked, wrong.deciding, right.marked, right.deciding) == ("“is”", "“not grim”", "“good”", "“good”")
    assert {name: said.replace("\xa0", " ") for name, said in wrong.alone.items()} == {
        "first": "50 %",
        "words": "99 %",
        "without": "40 %",
    }
    assert wrong.said == "blame"
    assert [word.text for word in wrong.words if word.decides] == ["not", "grim"]
    assert [word.heat for word in wrong.words if word.first] == [1.0]


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"predicted": 1}, 1),  # the model is wrong there
        ({"tokens": ["the", "plot", "is", "not", "grim"] + ["and"] * 30}, 1),  # too long to be shown whole
    ],
)
def test_clear_texts_go_before_others(changed, expected):
    instance, measured = text(2, "the plot is not grim .", "is", "not grim", False, (0.5, 0.99, 0.4))
    instance |= changed
    if "tokens" in changed:
        grown = {name: np.pad(measured[name], (0, len(changed["tokens"]) - 6)) for name in ("first", "decides", "matter")}
        instance, measured = instance | {"attention": 0.1 + grown["first"]}, measured | grown
    shown = shown_texts(joined(WRONG[0], (instance, measured)))
    assert shown[0].identity == expected


def test_a_reader_is_told_why_words_that_decide_count_as_wrong():
    instance, measured = text(1, "a b c d good .", "a b c good", "good", False, (0.94, 0.95, 0.5))
    too_many = "together they are enough, but 3 of these 4 words are not needed, which is more than the allowed quarter"
    matter = np.array([0, 0, 0, 0, 1.0, 0])
    (shown,) = shown_texts(joined((instance, measured | {"matter": matter})))
    assert shown.reason == too_many
    (shown,) = shown_texts(joined((instance, measured | {"matter": 0 * matter})))
    assert shown.reason == "together they are enough, but none of them makes a difference by itself"
    (shown,) = shown_texts(joined((instance, measured)))
    assert shown.reason.startswith("they are enough, but the first of them makes no difference by itself")
    (shown,) = shown_texts(joined((instance, measured | {"with_first": 0.6})))
    assert not shown.reason, "they do not decide, as their number says"
    (shown,) = shown_texts(joined((instance, measured | {"with_first": 0.88, "matter": matter})))
    assert shown.reason == too_many
    (shown,) = shown_texts(joined((instance, measured | {"with_first": 0.88, "matter": 0 * matter})))
    assert not shown.reason, "nearly enough"


def drawn(words, first="", decides=""):
    return [Drawn(each, 0.0, each in first.split(), each in decides.split(), False) for each in words.split()]


def test_a_long_text_is_shown_around_the_words_that_count():
    words = drawn(" ".join(f"w{place}" for place in range(40)), first="w3", decides="w30")
    shown = [word.text for word in elided(words, 40)]
    assert {"w3", "w30"} <= {*shown}
    assert shown == ["w0", "w1", "w2", "w3", "w4", "w5", "…", "w28", "w29", "w30", "w31", "w32", "…"]
    assert sum(len(each) + 1 for each in shown if each != "…") <= 40
    assert [word.text for word in elided(words, 4)] == ["…", "w3", "…", "w30", "…"]
    marked = drawn(
        " ".join(f"w{place}" for place in range(40)), first=" ".join(f"w{place}" for place in range(40)), decides="w30"
    )
    assert [word.text for word in elided(marked, 10)] == ["…", "w28", "w29", "w30", "w31", "w32", "…"], "all are marked"
    assert [word.text for word in elided(words[:6])] == [f"w{place}" for place in range(6)]


@pytest.mark.parametrize(("fillers", "said"), [(61, ""), (62, "one set of 2 of 65 words that is enough; others may be, too")])
def test_in_a_long_text_the_words_that_decide_are_one_set_of_several(fillers, said):
    (shown,) = shown_texts(joined(text(1, "not dull here " + "word " * fillers, "here", "not dull", False)))
    assert shown.one_of_many == said
    page = str(ENVIRONMENT.get_template("first.html").module.text(shown, "attention"))
    assert (f"({said})" in page, "others may be" in page) == (said != "", said != "")
    assert said in alone_of(shown)[-1].text


def test_neighbours_are_quoted_together():
    words = drawn("not dull but good and fine or new or odd", decides="not dull good fine new odd")
    assert quoted(words, lambda word: word.decides) == "“not dull”, “good”, “fine” and 2 more"
    assert quoted(words, lambda word: word.first) == "no word"
    weighed = [word._replace(heat=place / 10) for place, word in enumerate(words)]
    assert quoted(weighed, lambda word: word.decides, by_weight=True) == "“odd”, “new”, “fine” and 2 more"
    assert quoted(drawn("w " * 200, first="w"), lambda word: word.first) == f"“{'w ' * 27}…”"


def test_a_terminal_shows_the_words_that_count_in_brackets():
    words = drawn("the plot is not \x1b[31mdull .", decides="not \x1b[31mdull")
    assert bracketed(words, lambda word: word.decides) == "the plot is [not \N{REPLACEMENT CHARACTER}[31mdull] ."


def test_a_number_is_shown_by_how_far_it_moves():
    instance, measured = text(1, "a good end .", "a", "good", False)
    measured |= {"moved_with_words": 0.02, "moved_with_first": 0.4, "moved_without_words": 0.5}
    (shown,) = shown_texts(
        texts_with(
            pd.DataFrame([measured]), pd.DataFrame([instance | {"prediction": 1.5}]).drop(columns="predicted"), [], NUMBER
        )
    )
    assert dict(shown.alone) == {"first": "0.400 away", "words": "0.020 away", "without": "0.500 away"}
    assert not shown.said


def test_the_asked_word_of_a_tagger_is_marked():
    instance, measured = text(7, "she saw him .", "she", "him", False)
    sentence = {
        "id": 7,
        "tokens": instance["tokens"],
        "tags": np.array([0, 1, 0, 0]),
        "predicted_tags": np.array([0, 1, 0, 0]),
    }
    (shown,) = shown_texts(texts_with(pd.DataFrame([measured | {"token": 1.0}]), pd.DataFrame([sentence]), CLASSES, TAGS))
    assert [word.text for word in shown.words if word.asked] == ["saw"]
    rows = [text(k, "she saw him .", "she", "him", k % 2)[1] | {"token": 1.0} for k in range(40)]
    tags = [sentence | {"id": k, "probability_blame": np.full(4, 0.1 + k / 50)} for k in range(40)]
    assert groupings_of(texts_with(pd.DataFrame(rows), pd.DataFrame(tags), CLASSES, TAGS)) == ([], 0)
    assert shown.said == "praise"


def found(right, random=0.1, **changed):
    share = Share(right, right - 0.1, min(1.0, right + 0.1), 40)
    return Verdict(NO, share, Share(random, 0.0, 0.2, 40), 50)._replace(**changed)


def readings(**right):
    columns = {
        f"right_{name}": np.repeat([1.0, 0.0], [round(40 * share), 40 - round(40 * share)]) for name, share in right.items()
    }
    return pd.DataFrame({"id": range(40), "right": 0.0} | columns)


def test_readings_stand_by_their_shares_beside_a_random_order():
    rows = readings(leave_one_out=0.9, gradient_input_signed=0.2, random=0.1)
    best = ("leave_one_out", Share(0.9, 0.8, 1.0, 40))
    strip = strip_of(found(0.4, instead=best), rows, "attention")
    assert [row.name for row in strip] == ["leave-one-out", "attention", "gradient × input (signed)", "random order"]
    assert [row.shown for row in strip] == [True, False, False, False]
    assert [row.tested for row in strip] == [False, True, False, False]
    many = readings(random=0.1, **{f"own_{place}": 0.95 for place in range(9)}, leave_one_out=0.9)
    strip = strip_of(found(0.4, instead=best), many, "attention")
    assert len(strip) == 6
    assert {"leave-one-out", "attention", "random order"} <= {row.name for row in strip}
    (attention,) = [row for row in strip_of(found(0.95, answer=YES), rows, "attention") if row.shown]
    assert attention.tested
    assert not any(row.shown for row in strip_of(found(0.6, answer=IN_PART), rows, "attention"))


def test_a_word_whose_presence_among_the_deciding_ones_sorts_the_texts_is_found():
    negated = [text(k, f"the plot is not w{k} .", "is", f"not w{k}", False, label=k % 2) for k in range(20)]
    plain = [text(20 + k, f"the plot is w{k} . not so", f"w{k}", f"w{k}", True, label=k % 2) for k in range(15)]
    best, tried = groupings_of(joined(*negated, *plain))
    assert tried == 4
    assert [each.question for each in best] == ["How many words decide?", "Does “not” decide?", "Does it mark “is”?"]
    groups = {group.name: (group.right, group.share.texts) for group in best[1].groups}
    assert groups == {"“not” among the words that decide": (0, 20), "others": (15, 15)}
    screen = {"groupings": best, "tried": tried, "unit": "text", "fewest": GROUP}
    page = re.sub(r"<[^>]*>|\s+", " ", str(ENVIRONMENT.get_template("first.html").module.where(screen, "attention")))
    for said in ("“not” among the words that decide 20 texts", "others 15 texts", "fewer than 10 texts is left out"):
        assert said in re.sub(" +", " ", page), "no group without its number of texts"
    few, tried = groupings_of(joined(*negated[:12], *plain[:9]))
    assert not few, "nine texts are no group"


def test_a_column_of_the_user_sorts_the_texts():
    """A string with its most frequent values, numbers in halves, and groups of fewer than ten texts are left out."""
    sources = ["forum"] * 19 + ["news"] * 19 + ["blog"] * 2
    rows = [
        text(k, f"w{k} is a plot", "is" if where == "forum" else f"w{k}", f"w{k}", where != "forum", group_source=where,
             group_year=1990.0 + k, group_stars=float(1 + (k >= 19)))
        for k, where in enumerate(sources)
    ]  # fmt: skip
    found = {each.question: each for each in groupings_of(joined(*rows))[0]}
    groups = {group.name: (group.right, group.share.texts) for group in found["What is source?"].groups}
    assert groups == {"forum": (0, 19), "news": (19, 19)}
    every = {each.question: [group.name for group in each.groups] for each in _groupings(joined(*rows), "text")}
    assert every["How large is year?"] == ["year up to 2009.5", "more than 2009.5"]
    assert sorted(every["What is stars?"]) == ["stars: 1", "stars: 2"]


def test_a_sentence_of_a_tagger_is_not_called_a_text():
    rows = joined(*(text(k, f"the plot is w{k} ." if k % 2 else f"w{k}", "", f"w{k}", k % 2 == 1) for k in range(40)))
    assert "How long is the sentence?" in {each.question for each in groupings_of(rows, "sentence")[0]}


def test_tables_of_an_older_version_show_no_texts():
    rows = pd.DataFrame({"id": [1], "right": [1.0], "needs_words": [1.0]})
    assert texts_with(rows, pd.DataFrame({"id": [1]}), CLASSES).empty
    assert not shown_texts(texts_with(rows, pd.DataFrame({"id": [1]}), CLASSES))


def test_words_of_a_text_cannot_write_into_the_page():
    instance, measured = text(1, "<b>bad</b> end .", "<b>bad</b>", "end", False)
    (shown,) = shown_texts(joined((instance, measured)))
    page = str(ENVIRONMENT.get_template("first.html").module.text(shown, "attention"))
    assert "<b>bad</b>" not in page
    assert page.count("&lt;b&gt;bad&lt;/b&gt;") == 4  # two rows, the line, the whole text


def folder_of(tmp_path, rows):
    """A run with these texts."""
    instances, measured = zip(*rows, strict=True)
    table = pd.DataFrame(instances).drop(columns="label").assign(length=5, probability_blame=0.9, probability_praise=0.1)
    folder = made_run(tmp_path / "run", {}, table)
    write_table(folder.evidence("E19"), pd.DataFrame(measured).assign(pool=0, right_random=0.0, right_leave_one_out=1.0))
    return folder


def numbered(rows):
    """The texts with the numbers of their places as ids and behind their last words, so that none equals another."""
    return [
        (instance | {"id": n, "tokens": [*instance["tokens"][:-1], f"{instance['tokens'][-1]}{n}"]}, measured | {"id": n})
        for n, (instance, measured) in enumerate(rows)
    ]


def terminal_of(tmp_path, rows) -> list[str]:
    """What a terminal says of a run with these texts."""
    return [line.replace("\xa0", " ") for line in terminal_lines(Findings(folder_of(tmp_path, rows)))]


def test_the_table_of_texts_says_of_each_whether_attention_is_right_how_far_it_carries_and_by_which_words(tmp_path):
    needless = text(6, "so it is .", "", "", False)
    needless[1].update(needs_words=0.0, right=np.nan, words=np.nan, with_words=np.nan, with_first=np.nan)
    table = {"columns": [{"name": "tokens"}], "rows": [[identity, "so …", 0, 1, 5] for identity in (1, 2, 5, 6, 9)]}
    found = with_judged(table, Findings(folder_of(tmp_path, [*WRONG, *RIGHT, needless])))
    assert [column["name"] for column in found["columns"]] == ["attention", "carried", "tokens"]
    assert [row[4:6] for row in found["rows"]] == [
        ["wrong", 0.2], ["wrong", 0.17], ["right", 1.0], ["no word decides", None], [None, None],
    ]  # fmt: skip
    assert all(row[:4] == [row[0], "so …", 0, 1] and row[6:] == [5] for row in found["rows"])
    assert found["judged"][1] == [["the", 1, 0], ["plot", 1, 0], ["is", 10, 1], ["not", 1, 2], ["dull", 1, 2], [".", 1, 0]]
    assert {*found["judged"]} == {1, 2, 3, 4, 5}


def test_without_what_decides_the_table_stays_as_it_is(tmp_path):
    folder = folder_of(tmp_path, WRONG)
    folder.evidence("E19").unlink()
    table = {"columns": [], "rows": [[1, "so …", 0, 1]]}
    assert with_judged(table, Findings(folder)) == table


def test_a_terminal_says_answer_alternative_error_text_and_next_command_in_six_lines(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = terminal_of(tmp_path, numbered(WRONG * 10))
    starts = ["Verdict:    No. ", "Verdict:    Leave-one-out points at them in 100 %", "Error:      “No” was wrong in "]
    starts += ["Attention:  ", "Decides:    ", "Next:       attest explain --run run --id "]
    assert len(lines) == len(starts)
    assert all(line.startswith(start) for line, start in zip(lines, starts, strict=True))
    identity = int(lines[-1].split("--id ")[1].split()[0])
    assert " ".join(numbered(WRONG * 10)[identity][0]["tokens"]) == lines[-2].removeprefix(starts[-2]).replace(
        "[", ""
    ).replace("]", "")


def test_copies_of_a_text_do_not_count_in_the_verdict(tmp_path):
    wrong = numbered(WRONG * 7)
    right = [(instance | {"id": 100 + n}, measured | {"id": 100 + n}) for n, (instance, measured) in enumerate(RIGHT * 9)]
    found = Findings(folder_of(tmp_path, [*wrong, *right]))
    assert {row.share.texts for row in first_screen(found)["strip"]} == {23}, "nor in the readings beside it"
    lines = [line.replace("\xa0", " ") for line in terminal_lines(found)]
    assert " in 8.7 % [0.5 %, 34 %] of the 23 texts that have such words" in lines[0]
    assert lines[2].endswith(
        "16 of the 39 texts that were read equal an earlier one. They do not count in this verdict, but in all other numbers."
    )


def test_a_text_counts_if_its_copy_was_not_read(tmp_path):
    unread = [(instance | {"id": 50 + n}, measured | {"id": 50 + n, "needs_words": np.nan, "right": np.nan})
              for n, (instance, measured) in enumerate(numbered(WRONG * 7))]  # fmt: skip
    read = [
        (instance | {"id": 100 + n}, measured | {"id": 100 + n}) for n, (instance, measured) in enumerate(numbered(WRONG * 7))
    ]
    lines = terminal_of(tmp_path, [*unread, *read])
    assert " of the 21 texts that have such words" in lines[0]
    assert not any("equal an earlier one" in line for line in lines)


def test_a_terminal_says_of_an_adversary_how_often_it_decides_like_its_base(tmp_path):
    means = {f"E7/{column}/{part}": value for column, values in {"jsd": (0.6, 0.5, 0.65), "same": (0.87, 0.85, 0.89)}.items()
             for part, value in zip(("mean", "ci_low", "ci_high"), values, strict=True)}  # fmt: skip
    (line,) = [each.replace("\xa0", " ") for each in terminal_lines(Findings(made_run(tmp_path / "run", means)))]
    assert line == (
        "Adversary:  This model decides like its base in 87 % [85 %, 89 %] of texts; the JSD between their attention is "
        "0.600 [0.500, 0.650], of at most 0.693."
    )


def test_an_answer_whose_errors_nobody_counted_has_no_line_of_errors(tmp_path):
    lines = terminal_of(tmp_path, WRONG[:2] + RIGHT)
    assert lines[0].startswith("Verdict:    Cannot tell. ")
    assert not any(line.startswith("Error:") for line in lines)


def test_the_next_command_is_a_card_where_no_text_can_be_asked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Findings, "example", None)  # as that of a tagger
    lines = terminal_of(tmp_path, numbered(WRONG * 10))
    assert lines[-1] == "Next:       attest card run"
