"""Calibrate other models on sets of questions, and say how far abstaining comes from a guess to the best in hindsight.

    python -m training.question_set --families nq,musique,repliqa --most 150 --out eval/left-out
    python -m benchmarks.calibrated eval/left-out/nq eval/left-out/musique eval/left-out/repliqa

A set is a folder with ``questions.jsonl`` and ``documents``. The models are the embedded one without what was trained
and fitted for it, as a user's own file is (``file``); the same judging by a schema, without log-probabilities, as some
endpoints do (``schema``); and the embedded one whose log-odds of support are halved and raised by 2 (``distorted``).
For each set and model it prints the abstention F1 at the thresholds of the settings, at the cut of a calibration on
labels of other documents, at the best cut of all, and with ``--unlabelled N`` at that of two questions that the model
writes about each of N passages. Replies are kept in ``--out``: an interrupted run goes on.
"""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from app.front_door import SelfRAG
from app.settings import Settings
from app.terminal.screen import Screen
from benchmarks.harness import FOLDER, exit_code_of, option_parser, show_progress, write_figures
from core.errors import RequestError
from core.types import Verdict
from evaluation import written_labels
from evaluation.calibrating import CUTS, Trial, f1_of, fit_calibration, trials_of, usable
from evaluation.datasets.question_set import load
from evaluation.judging.saved_replies import Replies
from evaluation.recorded_chat import with_recorded_chats
from evaluation.written_labels import Written, shuffled_passages, write_questions
from models.calibration import expit, logit
from models.critic import Critic, FormatSelection
from models.model_files import CHAT_MODEL, ensure
from prompts.choice import Choice
from prompts.hallucination_check import SUPPORT
from run.context import Context, Services

HALVED, RAISED = 0.5, 2.0


@dataclass(frozen=True)
class Distorted(Critic):
    """A critic whose log-odds of support are half as steep as they were, and higher."""

    async def choose(self, choice: Choice, **inputs: Any) -> Verdict:
        """Return the verdict, on support with distorted probabilities."""
        verdict = await super().choose(choice, **inputs)
        before = verdict["probabilities"]
        if choice.name != SUPPORT.name or not before:
            return verdict
        none = 1 - expit(HALVED * logit(1 - before["no support"]) + RAISED)
        share = (1 - none) / max(1 - before["no support"], 1e-9)
        after = {label: none if label == "no support" else p * share for label, p in before.items()}
        return Verdict(label=max(after, key=lambda one: after[one]), probabilities=after, reason=verdict["reason"])


MODELS: dict[str, tuple[bool, Callable[[Critic], Critic]]] = {  # whether it is the user's own file
    "file": (True, lambda critic: critic),
    "schema": (True, lambda critic: replace(critic, format_selection=FormatSelection(current="schema"))),
    "distorted": (False, lambda critic: Distorted(critic.chat, critic.format_selection, critic.budget)),
}


def main() -> int:
    """Ask, print a row for each set and model, and write ``bench/calibrated.json``."""
    parser = option_parser(__doc__, most=150, out=FOLDER / "calibrated", unlabelled=0)
    parser.add_argument("sets", type=Path, nargs="+")
    parser.add_argument("--models", default=",".join(MODELS))
    options = parser.parse_args()
    return exit_code_of(partial(measure, options))


def measure(options: Any) -> None:
    rows = []
    for folder in options.sets:
        for name in options.models.split(","):
            row = asyncio.run(figures_of(folder, name, options))
            rows.append({"set": folder.name, "model": name, **row})
            print(json.dumps(rows[-1]), flush=True)
    write_figures("calibrated", {"rows": rows})


async def figures_of(folder: Path, name: str, options: Any) -> dict[str, Any]:
    """Return the abstention F1 of a model on a set: as it is, calibrated on other documents, and at the best cut."""
    own_file, changed = MODELS[name]
    settings = Settings()
    if own_file:
        settings = Settings(selfrag_model_path=ensure(CHAT_MODEL, settings.models_folder))
    examples = usable(load(folder / "questions.jsonl", options.out / "documents").examples)[: options.most]
    async with SelfRAG.open(folder / "documents", settings=settings, screen=Screen()) as rag:
        with Replies(options.out / f"{folder.name}-{'file' if own_file else 'embedded'}.jsonl") as replies:
            services = with_recorded_chats(rag.services, replies)
            asked = replace(services, critic=changed(cast("Critic", services.critic)))
            trials = await trials_of(asked, rag.context, examples, progress(folder, name))
            row = scored(trials)
            if options.unlabelled and rag.library:
                said = progress(folder, f"{name}, own questions")
                written_labels.PASSAGES = options.unlabelled
                wrote = await write_questions(asked, shuffled_passages(rag.library.store), rag.context.k, said)
                row |= await unlabelled(asked, rag.context, wrote, trials, said)
    return row


def progress(folder: Path, what: str) -> Callable[[int, int], None]:
    return lambda done, total: show_progress(f"{folder.name}, {what}: {done} of {total}")


def scored(trials: Sequence[Trial]) -> dict[str, Any]:
    """Return the abstention F1 before and after calibration, and at the best cut for these very questions."""
    best = max(f1_of(trials, [one.at[cut] for one in trials]) for cut in range(len(CUTS)))
    row: dict[str, Any] = {
        "questions": len(trials),
        "guess": f1_of(trials, [one.before for one in trials]),
        "best": best,
    }
    try:
        made = fit_calibration(trials)
    except RequestError as error:
        return row | {"refused": str(error)}
    row |= {"calibrated": made.after.abstention_f1.value, "slope": made.slope, "intercept": made.intercept}
    losses = {"log_loss_before": made.before.log_loss.value, "log_loss_after": made.after.log_loss.value}
    return row | {"cut": CUTS[made.cut], "written": made.better, **losses}


async def unlabelled(
    services: Services,
    context: Context,
    wrote: Written,
    trials: Sequence[Trial],
    said: Callable[[int, int], None],
) -> dict[str, Any]:
    """Return the abstention F1 at the cut of a calibration on questions that the model writes."""
    own = await trials_of(services, context, wrote.examples, said, wrote.withheld)
    row = {"own_questions": len(wrote.examples)}
    try:
        made = fit_calibration(own, estimated=True)
    except RequestError as error:
        return row | {"own_refused": str(error)}
    return row | {"estimated": f1_of(trials, [one.at[made.cut] for one in trials]), "own_cut": CUTS[made.cut]}


if __name__ == "__main__":
    raise SystemExit(main())
