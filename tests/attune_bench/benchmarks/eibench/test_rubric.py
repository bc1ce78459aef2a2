"""What the instructions of the simulator say, by scene and language: the facts of the published rubric, each one."""
# ruff: noqa: RUF001 - Chinese punctuation.

import asyncio
import json
import re
from typing import Any

import pytest

from attune_bench.benchmarks.eibench.task import EIBenchSettings, run_episode
from attune_bench.runner import Call
from attune_data import Scenario, load_scenarios
from attune_data.eibench.records import SCENES

LANGUAGES = ("en", "zh")
DEMO: dict[str, Scenario] = {scenario.scene: scenario for scenario in reversed(load_scenarios("demo"))}


def instructions(scene: str, language: Any) -> str:
    """Return what a simulator is sent in the first round, without the profile of the person, line breaks as spaces."""
    calls: list[Call] = []

    async def complete(call: Call, _attempt: int) -> str:
        calls.append(call)
        return json.dumps({"reply": "Well.", "continue": "no"})

    scenario = DEMO[scene]
    settings = EIBenchSettings("vendor/model", "vendor/person", language=language)
    asyncio.run(run_episode(scenario, complete, settings))
    system = next(call for call in calls if call.role == "simulator").messages[0]["content"]
    return " ".join(system.removeprefix(scenario.aggressor_profile.system_prompt.strip()).split())


# By scene: a fact, and the words that say it in English and in Chinese.
FACTS: dict[str, dict[str, tuple[str, str]]] = {
    "defense": {
        "a clear demand": ("something definite of the other person", "有一个明确的要求"),
        "not bought by soft words": ("not bought by soft words", "软话收买不了你"),
        "alert to evasion": ("alert to phrases, evasion", "推脱、拿情绪来左右你，都会让你警觉"),
        "presses where the other looks weak": ("look easy to bully, you press harder", "看上去好拿捏，你就逼得更紧"),
        "softens at an answer": ("face your demand and give a concrete, reasonable answer that can be acted on",
                                 "正面接住你的要求，给出具体、合理、能落实的答复"),
        "softens most at a commitment": ("with time, who and how, and it holds together",
                                         "什么时间、由谁、怎么做都说清楚，前后也对得上"),
        "most after several rounds": ("several rounds in which they were sincere", "诚恳地谈过好几轮"),
        "a concession is not punished": ("concretely concede is an answer like any other", "具体让了一步，也算是答复"),
        "a limit alone is evasion": ("A limit that they set without an answer to your demand is evasion",
                                     "只划一条界线、却不回应你的要求，就是推脱"),
        "at once: apology without action": ("repeated apology or understanding without action",
                                            "反复道歉、反复说“理解”，却没有行动"),
        "at once: contradiction": ("a contradiction to what they said before", "说法前后矛盾"),
        "at once: procedure": ("the rules only allow so much or that it is not their job", "规定只能这样、不归我管"),
        "at once: the hurt turned around": ("turning the hurt around", "反过来诉委屈或者倒打一耙"),
        "at once: templates": ("template talk", "模板话"),
    },
    "repair": {
        "wants what was wrong": ("what exactly was wrong", "到底错在哪里"),
        "wants why": ("why it happened", "当时为什么会那样"),
        "wants how it will be avoided": ("how it will be avoided", "往后怎样避免"),
        "wants a plan": ("a concrete plan to make good", "打算怎样具体地弥补"),
        "most at what was not said": ("what you minded and never said", "没说出口却一直在意的那一点"),
        "most at amends worked out": ("amends that have a time, steps and a way out",
                                      "有时间、有步骤，万一做不到怎么办"),
        "at once: the same apology": ("the same apology again", "同样的道歉又来一遍"),
        "at once: change of subject": ("a change of subject while you are still hurt", "你还在难受，对方就换话题"),
        "at once: blame returned": ("blame returned", "反过来怪你"),
        "at once: vague promises": ("vague promises", "空头承诺"),
        "at once: pressing to forgive": ("pressing for forgiveness", "逼你原谅"),
    },
    "support": {
        "loosens at a detail": ("they take up a specific detail of what you said", "接住了你话里某个具体的细节"),
        "three sustained rounds": ("three sustained rounds or more", "一连三轮以上"),
        "large: not in the first four": ("In the first four rounds this is nearly impossible", "前四轮几乎不可能"),
        "medium is the most of one reply": ("the most that one reply achieves as a rule", "一般最多就是这样"),
        "harm: advice": ("advice, solutions or the way forward before you are ready", "给建议、给办法、叫你往前看"),
        "harm: analysis and diagnosis": ("analysis and diagnosis", "分析和诊断"),
        "harm: forced optimism": ("forced optimism", "硬要乐观"),
        "harm: long replies": ("long replies", "长篇大论"),
        "harm: literary replies": ("literary replies", "文艺腔"),
        "harm: repeated comfort": ("repeated comfort", "反复的安慰"),
    },
    "charm": {
        "a high bar": ("your bar is high", "你的门槛很高"),
        "test: changes of subject": ("you change the subject and see", "冷不丁换个话题"),
        "test: a provocative view": ("a provocative view", "有点挑衅的看法"),
        "test: coolness": ("turn cool and doubtful", "忽然冷下来"),
        "warms: humour, independence": ("real humour, independence", "真正的幽默，有主见"),
        "warms: a detail of their own": ("something that only this person would say", "只有这个人才会说的话"),
        "cools: dull repetition": ("dull repetition", "乏味的重复"),
        "cools: eagerness": ("eagerness that presses you", "急切得让你有压力"),
        "cools: flattery": ("flattery: each sentence", "奉承"),
        "cools: missing distance": ("missing distance", "没有距离感"),
        "cools: mediocrity": ("mediocrity", "平庸：话题"),
        "cools: the safe and faultless": ("the safe and faultless: always proper, polite and right, never any edge",
                                          "稳妥得挑不出错：句句得体、客气、正确，却没有一点棱角"),
    },
}  # fmt: skip

# Of every scene.
COMMON: dict[str, tuple[str, str]] = {
    "0 is the default": ("nothing new: the default", "没有新东西：这是默认"),
    "no mistake earns nothing": ("To make no mistake earns nothing", "没说错话不等于有好处"),
    "no momentum": ("No momentum: judge each round on its own evidence", "不看势头：每一轮只凭这一轮的话来判"),
    "half the second time": ("half the second time", "第二次算一半"),
    "nothing the third time": ("from the third time on nothing", "从第三次起不再有好处"),
    "costs: machine talk": ("talk like a machine", "机器腔"),
    "costs: length": ("more than three or four sentences", "超过三四句"),
    "costs: lecturing": ("lecturing and advice from above", "说教、高高在上地出主意"),
    "costs: written style": ("written style", "书面腔"),
    "costs: lists": ("fine paragraphs), lists", "），列表"),
    "costs: empty labels": ("naming your feelings without anything behind the names", "贴标签而没有内容"),
    "costs: stage directions": ("stage directions in brackets", "括号里的动作描写"),
    "cost both axes": ("always cost something, anger up and trust down", "总要付出代价，anger 上升，trust 下降"),
    "above 60": ("anger is above 60, you tend to losses", "anger 高于 60 时，你偏向往坏里判"),
    "below 20": ("trust is below 20, you owe no courtesy: be curt", "trust 低于 20 时，你不必客气：回答简短"),
    "rounds 1 to 4": ("Rounds 1 to 4: keep pressing", "第 1 到 4 轮：继续施压"),
    "late rounds": ("Rounds 5 to 8: your patience wanes", "第 5 到 8 轮：你的耐心在消耗"),
    "to the fourth round": ("at least to the fourth round", "尽量谈到第四轮"),
    "no end for one sentence": ("Never stop because of one good sentence", "绝不因为一句好话"),
    "no end while something is left": ("while a feeling, a doubt or a question is left, go on",
                                       "只要还有情绪、有疑虑、有问题，就继续"),
    "no idle talk": ("an empty exchange of courtesies", "没有意义的来回客套"),
    "the range": ("whole number from -10 to 10", "-10 到 10 的整数"),
}  # fmt: skip


@pytest.mark.parametrize("scene", SCENES)
def test_every_fact_of_the_rubric_is_said_in_its_language(scene: str) -> None:
    said = [instructions(scene, language) for language in LANGUAGES]
    for fact, words in {**FACTS[scene], **COMMON}.items():
        found = [[text in instruction for instruction in said] for text in words]
        assert found == [[True, False], [False, True]], fact


def test_facts_of_a_scene_are_said_in_no_other() -> None:
    for scene, facts in FACTS.items():
        for other in {*SCENES} - {scene}:
            said = [instructions(other, language) for language in LANGUAGES]
            shared = {fact for fact, words in facts.items() if all(map(str.__contains__, said, words))}
            assert not shared, (scene, other)


@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize(
    ("place", "grades", "at_once"),
    [
        (0, ("A little", "Clearly", "A great deal", "A little", "Clearly", "Badly"), " at once:"),
        (1, ("一点点", "明显", "很大", "一点点", "明显", "很严重"), "一出现就让你立刻"),
    ],
)
def test_a_scene_has_every_band(scene: str, place: int, grades: tuple[str, ...], at_once: str) -> None:
    said = instructions(scene, LANGUAGES[place])
    assert re.findall(r"- (A little|Clearly|A great deal|Badly|一点点|明显|很大|很严重)[:：]", said) == list(grades)
    before, found, after = said.partition(at_once)
    assert found
    assert len(re.findall(r" - \S", after.partition(" ## ")[0])) >= 5
    assert grades[5] in before


# What the rubric does not have, and what contradicts it: a person who punishes concessions, and a patience of rounds.
ABSENT = (
    ("despise giving in", "让步你看不起"),
    ("one may move while the other does not", "可以只动其中一个"),
    ("had enough and would leave", "受够了要走"),
    ("give up the very thing", "本该守住的东西交了出来"),
)


@pytest.mark.parametrize("scene", SCENES)
def test_what_the_rubric_does_not_have_is_not_said(scene: str) -> None:
    for place, language in enumerate(LANGUAGES):
        said = instructions(scene, language)
        assert not [words[place] for words in ABSENT if words[place] in said]
