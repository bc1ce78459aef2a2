"""Prices, and a limit that no run exceeds."""

import asyncio
import json
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer, answer_to, reply, said
from slow_cases import slow_except

from attune_bench.benchmarks.attunebench.rejudging import REJUDGE, drafted_runs
from attune_bench.benchmarks.attunebench.task import TASK, AttuneBenchSettings, planned_calls
from attune_bench.runner import Call, Price, PriceError, RunOptions, RunOutcome, endpoint, read_prices, run_sync
from attune_bench.runner.calls import Decoding, Response, Role
from attune_bench.runner.client import Client
from attune_bench.runner.cost import (
    Budget,
    BudgetExceededError,
    Estimate,
    calls_within,
    estimate,
    estimate_text,
    most_tokens,
)
from attune_data import Conversation, Run, load_runs

CHEAP = 0.001
PRICES = {"vendor/model": Price(2.0, 10.0), "judge/one": Price(1.0, 4.0)}
SETTINGS = AttuneBenchSettings("vendor/model", judges=("judge/one",))


def run(
    server: ModelServer, conversations: list[Conversation], output: Path, max_tokens: int = 4096, **options: Any
) -> RunOutcome:
    where, settings = endpoint("local", base_url=server.url), replace(SETTINGS, max_tokens=max_tokens)
    return run_sync(TASK, conversations, settings, where, output=output, options=RunOptions(**options))


def call(model: str = "m", content: str = "x" * 100) -> Call:
    return Call("post", model, "model", ({"role": "user", "content": content},), {}, "post")


# What a result notes.


def test_a_result_notes_what_each_kind_of_call_took(demo: list[Conversation], tmp_path: Path) -> None:
    with ModelServer() as server:
        run(server, demo[:1], tmp_path / "runs", prices=PRICES)
        [made] = load_runs(tmp_path / "runs")
        responses = [json.loads(line) for line in (tmp_path / "runs/.cache.jsonl").read_bytes().splitlines()]
        usage = (made.model_extra or {})["usage"]
        assert {part.partition("/")[0] for part in usage} == {"model", "judge"}
        for name in ("prompt_tokens", "completion_tokens", "cost", "seconds"):
            assert sum(one[name] for one in usage.values()) == pytest.approx(sum(one[name] for one in responses))
        assert sum(one["calls"] for one in usage.values()) == len(responses)
        assert usage["judge/judge"]["calls"] == len(made.turns)
        judged = {key: one for key, one in usage.items() if key.startswith("judge/")}
        drafted = drafted_runs([made], demo[:1])
        where = endpoint("local", base_url=server.url)
        again = replace(SETTINGS, judges=("judge/one", "judge/two"))
        run_sync(REJUDGE, drafted, again, where, output=tmp_path / "again")
        [rejudged] = load_runs(tmp_path / "again")
        of_both = (rejudged.model_extra or {})["usage"]
        # What the drafts took is kept, of the judges only what these took, whose price is not known.
        assert {key: one for key, one in of_both.items() if key not in judged} == {
            key: one for key, one in usage.items() if key not in judged
        }
        assert (of_both["judge/judge"]["calls"], of_both["judge/judge"]["cost"]) == (2 * len(made.turns), None)
        # Where a run does not say what its drafts took, the judges alone would be too little.
        [unknown] = drafted_runs([Run.model_validate_json(_without_usage(made.to_json()))], demo[:1])
        run_sync(REJUDGE, [unknown], again, where, output=tmp_path / "unknown")
        assert (load_runs(tmp_path / "unknown")[0].model_extra or {})["usage"] is None


def _without_usage(content: bytes) -> bytes:
    return json.dumps({key: value for key, value in json.loads(content).items() if key != "usage"}).encode()


# Prices.


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("p.toml", '["vendor/model"]\ninput = 2\noutput = 10.0\n'),
        ("p.json", '{"vendor/model": {"input": 2, "output": 10}}'),
        ("P.JSON", '{"vendor/model": {"input": 2, "output": 10}}'),
    ],
)
def test_prices_are_read(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    assert read_prices(tmp_path / name) == {"vendor/model": Price(2.0, 10.0)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no prices"),
        ("[m]\ninput = 1", "m: .*is not a table of input and output"),
        ("[m]\ninput = 1\noutput = 1\ncached = 1", "m: .*is not a table of input and output"),
        ("[m]\ninput = -1\noutput = 1", "m.input: '-1' is not a price"),
        ("[m]\ninput = nan\noutput = 1", "m.input: 'nan' is not a price"),
        ("[m]\ninput = true\noutput = 1", "m.input: 'True' is not a price"),
        ("m = 3", "m: '3' is not a table"),
        ("[m", "prices are TOML, or JSON"),
    ],
)
def test_bad_prices_are_one_error(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(text)
    with pytest.raises(PriceError, match=message) as caught:
        read_prices(path)
    assert str(path) in str(caught.value)


def test_a_file_of_prices_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(PriceError, match="No such file"):
        read_prices(tmp_path / "none.toml")


def test_the_price_of_tokens() -> None:
    # 3 million at 2 USD and half a million at 10 USD for a million.
    assert Price(2.0, 10.0).of(3_000_000, 500_000) == 11.0


def test_the_bound_is_above_a_token_for_each_byte() -> None:
    # Gemma's tokenizer makes 1,000 tokens of 1,000 digits, and as many as there are of control characters.
    for text in ("1234567890" * 100, "\x01" * 1000, "🙂" * 250):
        assert most_tokens(call(content=text)) > 1000
    # The schema is sent, and counted by servers, as a part of the prompt.
    schema = {"type": "object", "properties": {"x" * 1000: {"type": "string"}}}
    assert most_tokens(replace(call(content=""), schema=schema)) > 1000


# The limit.


@pytest.mark.parametrize("limit", [0.0, -1.0, float("nan"), float("inf")])
def test_a_limit_is_a_positive_number(limit: float) -> None:
    with pytest.raises(PriceError, match="expected a positive number"):
        Budget(limit, {})


def test_a_bound_is_reserve_until_the_price_is_booked() -> None:
    bound = Price(1.0, 1.0).of(most_tokens(call()), 1000)

    async def spend() -> None:
        budget = Budget(2.5 * bound, {"m": Price(1.0, 1.0)})
        first, second = await budget.reserve(call(), 1000), await budget.reserve(call(), 1000)
        assert first == second == bound
        third = asyncio.create_task(budget.reserve(call(), 1000))
        await asyncio.sleep(0)
        assert not third.done()  # It may fit once the others are booked.
        await budget.settle(first, bound / 10)
        assert await third == bound
        await budget.settle(second, bound)
        await budget.settle(bound, bound)
        assert budget.spent == pytest.approx(2.1 * bound, rel=1e-12)
        with pytest.raises(BudgetExceededError, match="are spent and the next call may cost"):
            await budget.reserve(call(), 1000)

    asyncio.run(spend())


def test_a_rest_of_sums_is_not_waited_for() -> None:
    """Doubles near 100,000 are 1.5e-11 apart: a cheap bound that was added to such a sum leaves a part of that."""
    cheap, dear = call("cheap"), call("dear")
    prices = {"cheap": Price(0.0, CHEAP), "dear": Price(0.0, 1e5)}
    assert (CHEAP + 1e5) - 1e5 - CHEAP > 1e-12

    async def spend() -> None:
        budget = Budget(100_001.0, prices)
        bounds = [await budget.reserve(one, 1_000_000) for one in (cheap, dear)]
        assert bounds == [CHEAP, 1e5]
        for bound in reversed(bounds):
            await budget.settle(bound, bound)
        with pytest.raises(BudgetExceededError):
            await asyncio.wait_for(budget.reserve(dear, 1_000_000), 1.0)

    asyncio.run(spend())


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(("answer", "times"), [("200 OK", 1), ("500 Internal Server Error", 0)])
def test_an_answer_of_no_use_may_have_been_charged_and_a_refusal_was_not(answer: str, times: int) -> None:
    bound, noted = Price(1.0, 1.0).of(most_tokens(call()), 200), []

    async def note(amount: float) -> None:
        noted.append(amount)

    async def keep(_answer: object) -> None:
        pass

    async def ask(url: str) -> float:
        budget = Budget(100.0, {"m": Price(1.0, 1.0)}, record=note)
        async with Client(endpoint("local", base_url=url), budget=budget) as client:
            await client.request(call(), Decoding(None, None, 200), keep)
        return budget.spent

    with ModelServer(lambda number, _body: reply(answer, "{}") if number == 1 else said("", cost=0.0)) as server:
        assert asyncio.run(ask(server.url)) == times * bound
    assert sum(noted) == (1 + times) * bound


@pytest.mark.usefixtures("impatient")
def test_what_may_have_been_charged_without_an_answer_counts_in_later_runs(
    five_turns: Conversation, tmp_path: Path
) -> None:
    charged: list[float] = []

    def silent(_number: int, body: dict[str, Any]) -> str:
        asked = Call("x", body["model"], "model", tuple(body["messages"]), {}, "x")
        charged.append(PRICES[body["model"]].of(most_tokens(asked), 200))
        return "stall"

    with ModelServer(silent) as server:
        options: dict[str, Any] = {"max_cost": 0.03, "prices": PRICES, "max_tokens": 200, "call_timeout": 0.1}
        outcome = run(server, [five_turns], tmp_path, **options)
        assert "the limit of 0.03 USD" in (outcome.stopped or "")
        assert len(charged) > 1
        for _ in range(3):
            run(server, [five_turns], tmp_path, **options)
        assert sum(charged) <= 0.03


def test_a_call_that_waited_for_the_limit_is_not_sent_after_a_refusal() -> None:
    bound, noted = Price(1.0, 1.0).of(most_tokens(call()), 200), []

    async def note(amount: float) -> None:
        noted.append(amount)

    async def keep(_answer: object) -> None:
        raise AssertionError

    async def ask(url: str) -> list[object]:
        budget = Budget(1.5 * bound, {"m": Price(1.0, 1.0)}, record=note)
        async with Client(endpoint("local", base_url=url), budget=budget) as client:
            decoding = Decoding(None, None, 200)
            asking = [client.request(call(), decoding, keep) for _ in range(3)]
            return await asyncio.gather(*asking, return_exceptions=True)

    with ModelServer(lambda _number, _body: reply("401 Unauthorized", "")) as server:
        failed = asyncio.run(ask(server.url))
        assert server.calls == 1
    assert all("does not accept the key" in str(one) for one in failed)
    assert noted == [bound, -bound]


def test_costs_by_price_are_recorded_apart(five_turns: Conversation, tmp_path: Path) -> None:
    with ModelServer(lambda _number, body: said(answer_to(body), completion_tokens=10)) as server:
        outcome = run(server, [five_turns], tmp_path, prices=PRICES)
    (made,) = load_runs(tmp_path)
    # 21 calls and 5 judgements of 100 tokens and 10.
    assert made.api_cost == pytest.approx(21 * (100 * 2 + 10 * 10) / 1e6, rel=1e-12)
    assert (made.model_extra or {})["judge_cost"] == pytest.approx(5 * (100 * 1 + 10 * 4) / 1e6, rel=1e-12)
    assert outcome.meter.costs["model"] == pytest.approx(made.api_cost, rel=1e-9)


def test_a_cost_that_the_server_tells_counts(five_turns: Conversation, tmp_path: Path) -> None:
    with ModelServer(lambda _number, body: said(answer_to(body), cost=0.1)) as server:
        run(server, [five_turns], tmp_path, prices=PRICES)
    (made,) = load_runs(tmp_path)
    # To the last digit, as answers come in another order each time: 2.1, which a loop of additions misses.
    assert made.api_cost == 2.1


def test_an_unknown_cost_is_null_not_0(five_turns: Conversation, tmp_path: Path) -> None:
    with ModelServer() as server:
        run(server, [five_turns], tmp_path)
    (path,) = tmp_path.glob("*.json")
    content = json.loads(path.read_bytes())
    assert content["api_cost"] is content["judge_cost"] is None


@pytest.mark.parametrize(
    "told",
    slow_except(["cost", "nothing", "0 tokens", "0 tokens of the prompt", "0 tokens of the answer"], "cost", "nothing"),
)
def test_no_run_spends_more_than_its_limit(told: str, demo: list[Conversation], tmp_path: Path) -> None:
    """The server charges all that a call may cost, and tells the cost, or nothing, or tokens that it did not count."""
    paid: list[float] = []

    def dear(_number: int, body: dict[str, Any]) -> bytes:
        asked = Call("x", body["model"], "model", tuple(body["messages"]), {}, "x")
        cost = PRICES[body["model"]].of(most_tokens(asked), 200)
        paid.append(cost)
        usage: dict[str, dict[str, Any]] = {
            "cost": {"cost": cost},
            "nothing": {"prompt_tokens": None, "completion_tokens": None},
            "0 tokens": {"prompt_tokens": 0, "completion_tokens": 0},
            "0 tokens of the prompt": {"prompt_tokens": 0},
            "0 tokens of the answer": {"completion_tokens": 0},
        }
        return said(answer_to(body), **usage[told])

    with ModelServer(dear) as server:
        options: dict[str, Any] = {"max_cost": 0.5, "prices": PRICES, "max_tokens": 200, "concurrency": 8}
        outcome = run(server, demo, tmp_path, **options)
        assert 0.3 < sum(paid) <= 0.5
        assert outcome.stopped is not None
        assert "the limit of 0.5 USD" in outcome.stopped
        assert outcome.finished + len(outcome.skipped) == len(demo)
        skipped = [one.unit_id for one in outcome.skipped]
        assert skipped == [conversation.id for conversation in demo if conversation.id in skipped]
        listed = json.loads((tmp_path / "_skipped_vendor-model.json").read_bytes())
        assert len(listed["skipped"]) == len(outcome.skipped) > 0
        # The limit is that of the folder, so that the same command does not spend it again.
        run(server, demo, tmp_path, **options)
        assert sum(paid) <= 0.5
        # A higher one goes on.
        assert run(server, demo[:2], tmp_path, **{**options, "max_cost": 50.0}).skipped == ()


def test_a_limit_needs_every_price(demo: list[Conversation], tmp_path: Path) -> None:
    with ModelServer() as server:
        with pytest.raises(PriceError, match="the price of judge/one is not known"):
            run(server, demo, tmp_path, max_cost=1.0, prices={"vendor/model": Price(1.0, 1.0)})
        assert server.calls == 0


def test_a_limit_needs_the_cost_of_earlier_answers(demo: list[Conversation], tmp_path: Path) -> None:
    with ModelServer() as server:
        run(server, demo[:1], tmp_path)
        sent = server.calls
        with pytest.raises(PriceError, match=rf"{sent} earlier responses .* cost an unknown amount"):
            run(server, demo[:2], tmp_path, max_cost=1.0, prices=PRICES)
        assert server.calls == sent


# Before a run.


def test_an_estimate_is_priced_about_and_at_most() -> None:
    one = Estimate(calls=3, prompt=1_000_000, most_prompt=2_000_000, completion=100_000, most_completion=300_000)
    lines = estimate_text({"m": one}, {"m": Price(1.0, 10.0)}).splitlines()
    # 1 + 0.1 x 10, and 2 + 0.3 x 10.
    assert lines[1].strip() == "cost: about 2.00 USD, at most 5.00 USD"


def test_a_judge_will_read_a_draft_and_nobody_answers_more_than_the_most() -> None:
    plain_call = replace(call(content="x" * 1000), schema={"type": "string"})
    decoding: dict[Role, Decoding] = {"model": Decoding(0.0, None, 50)}
    (plain,) = estimate([plain_call], decoding).values()
    (one,) = estimate([replace(plain_call, pending=1)], decoding).values()
    # A draft of about 500 characters is 125 tokens; it has 50 at most. An answer of 500 characters has 50 at most too.
    assert (plain.prompt, one.prompt) == (250, 375)
    assert one.most_prompt == plain.most_prompt + 50
    assert plain.completion == one.completion == one.most_completion == 50


def test_an_estimate_is_below_its_bound_and_counts_models_apart(five_turns: Conversation) -> None:
    each = estimate(planned_calls(five_turns, SETTINGS), replace(SETTINGS, max_tokens=1000).decoding)
    assert {model: one.calls for model, one in each.items()} == {"vendor/model": 21, "judge/one": 5}
    assert each["vendor/model"].most_completion == 21_000
    for one in each.values():
        assert 0 < one.prompt < one.most_prompt
        assert 0 < one.completion < one.most_completion
    text = estimate_text(each, {"vendor/model": Price(1.0, 1.0)})
    assert "21 calls" in text
    assert text.count("cost: about") == text.count("cost: not known") == 1
    assert '--prices has it as ["judge/one"], then input = USD and output = USD' in text


@pytest.mark.parametrize("limit", [1.0, 400.0, 1000.0, 2500.0, 1e6])
def test_a_limit_stops_the_estimate_where_it_stops_the_calls(limit: float) -> None:
    one, most, price = call(content="x" * 40), 300, Price(1e6, 1e6)
    calls, decoding = [one] * 12, Decoding(None, None, most)
    # At 1 USD for a token: 40 bytes are 10 tokens; an answer in free text is of 500 letters, which are 125.
    about = 10 + 125

    async def keep(_response: Response) -> None:
        pass

    async def made() -> int:
        budget, count = Budget(limit, {"m": price}), 0
        async with Client(endpoint("local", base_url=server.url), budget=budget) as client:
            with suppress(BudgetExceededError):
                for each in calls:
                    await client.request(each, decoding, keep)
                    count += 1
        return count

    with ModelServer(lambda _number, _body: said("x", cost=about)) as server:
        assert calls_within(calls, {"model": decoding}, {"m": price}, limit) == asyncio.run(made())


@pytest.mark.slow
@pytest.mark.usefixtures("elsewhere")
def test_a_dry_run_says_where_the_limit_stops_the_run(request: pytest.FixtureRequest, demo: list[Conversation]) -> None:
    cli: Callable[..., tuple[int, str, str]] = request.getfixturevalue("call")  # The name is taken here.
    Path("prices.toml").write_text("[m]\ninput = 1.0\noutput = 2.0\n", encoding="utf-8")
    given = ("run", "local", "m", "demo", "--limit", 4, "--modes", "default", "verbose", "--dry-run")
    _, plain, _ = cli(*given, "--prices", "prices.toml")
    about, _ = (float(cost) for cost in re.findall(r"([\d.]+) USD", plain))
    settings = [AttuneBenchSettings("m", mode) for mode in ("default", "verbose")]
    files = [planned_calls(one, own) for one in demo[:4] for own in settings]
    total = sum(map(len, files))
    decoding: dict[Role, Decoding] = {"model": Decoding(0.0, None, 4096)}
    said_of: list[int] = []
    for share in (1e-6, 0.3, 0.7):
        status, out, err = cli(*given, "--prices", "prices.toml", "--max-cost", about * share)
        assert (status, err, out.startswith(plain)) == (0, "", True)
        (line,) = out.removeprefix(plain).splitlines()
        form = rf"stops the run after about ([\d,]+) of {total} calls, with (\d) of 4 conversations finished"
        found = re.fullmatch(rf"--max-cost \S+ {form}", line)
        assert found is not None
        said_of.append(int(found[1]))
        calls = [call for file in files for call in file]
        assert said_of[-1] == calls_within(calls, decoding, {"m": Price(1.0, 2.0)}, about * share)
        # A conversation is finished in both modes.
        ends = [sum(map(len, files[: 2 * n])) for n in range(1, 5)]
        assert int(found[2]) == sum(end <= said_of[-1] for end in ends)
    assert said_of[0] == 0 < said_of[1] < said_of[2] < total
    # One that is not reached, and one without a price, change nothing.
    assert cli(*given, "--prices", "prices.toml", "--max-cost", 1000)[1] == plain
    assert "--max-cost" not in cli(*given, "--max-cost", 1000)[1]


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("prices.toml", "a." * 40_000 + "a = 1", "a key of more than 100 parts"),
        ("prices.toml", "a = " + "[" * 100_000, "nested too deeply"),
        ("prices.toml", "#" * 2**20 + "\n", "larger than 1,048,576 bytes"),
        ("prices.json", "[" * 100_000, "nested too deeply"),
    ],
)
def test_a_file_of_prices_that_takes_long_to_parse_is_refused(
    name: str, content: str, told: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(PriceError, match=told):
        read_prices(tmp_path / name)
