"""A conversation with a person on the command line: each line is a question, or a command that begins with ``/``."""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from app.commands.ask import require_model, show_answer, shows_drafts, traced
from app.commands.threads import export_thread, find_thread, show_threads, show_turns
from app.conversations.answering import ThreadAnswers
from app.conversations.feedback import Feedback, FeedbackStore, Judgement
from app.conversations.tables import ThreadTables
from app.conversations.thread import Thread, ThreadTurn
from app.front_door import SelfRAG
from app.libraries import sync
from app.terminal.screen import Screen
from core.errors import RequestError
from core.text import shortened, shown_path
from run.context import Context

MOST_SHOWN = 3  # turns of a thread that is opened
NO_QUESTION = "This thread has no question yet: ask one first."


@dataclass
class Conversation:
    """The actions of a person in a chat; if ``thread`` is None, the first question begins a thread.

    ``context`` has the options of the command line, which hold for every question.
    """

    rag: SelfRAG
    threads: ThreadTables
    feedback: FeedbackStore
    context: Context | None
    options: argparse.Namespace
    screen: Screen
    thread: Thread | None = None

    def __post_init__(self) -> None:
        """Create the `ThreadAnswers`; choose where lists are printed: to stdout or, with ``--json``, to stderr."""
        self._answers = ThreadAnswers(self.threads, [str(path.resolve()) for path in self.options.docs or ()])
        self._line = self.screen.line if self.options.json else self.screen.result

    def say(self, line: str) -> bool:
        """Ask the line's question or run its command; return False if the command is /quit. Raises `SelfRAGError`."""
        if not line.startswith("/"):
            self.ask(line)
            return True
        name, _, rest = line.partition(" ")
        if name == "/quit":
            return False
        command = COMMANDS.get(name)
        if command is None:
            raise RequestError(f"There is no command {shortened(name, 40)}: /help lists them.")
        if not rest.strip() and command.takes and not command.takes.startswith("["):
            raise RequestError(f"{name} needs {command.takes}: write it after the command.")
        command.run(self, rest.strip())
        return True

    def ask(self, question: str, *, standalone: str | None = None, replaces: str | None = None) -> None:
        """Ask a question in the thread, show its trace and its answer. `ThreadAnswers.begin` explains the arguments."""
        if self.rag.library:
            sync(self.rag.library, self.screen, complete=False)
        new = self.thread is None
        thread = self.thread or self.threads.create()
        try:
            turn = self._answers.begin(thread.id, question, self.context, standalone=standalone, replaces=replaces)
        except BaseException:
            if new:
                self.threads.delete(thread.id)
            raise
        self.thread = thread
        self._answer(turn)

    def open(self, thread: Thread) -> None:
        """Continue a thread: show its last turns, and finish the question that a crash interrupted."""
        self.thread = thread
        if not self.options.json:
            turns = [turn for turn in self.threads.turns(thread.id) if not turn.replaced]
            self.screen.line(("{}", thread.title, "bold"))
            show_turns(turns[-MOST_SHOWN:], self.screen.line, brief=True)
        for _, turn in self._answers.unfinished(thread.id):
            self.screen.note(f"this question was cut off, and goes on: {turn.question}")
            self._answer(turn)

    def meant(self, text: str) -> None:
        """Ask the last question again; ``text`` is what that question means without the conversation."""
        last = self._last()
        self.ask(last.question, standalone=text, replaces=last.run)

    def again(self, text: str) -> None:
        """Ask the last question again, in the words of ``text`` if there are any."""
        last = self._last()
        standalone = None if text else last.given_standalone
        self.ask(text or last.question, standalone=standalone, replaces=last.run)

    def judge(self, judgement: Judgement, answer: str) -> None:
        """Keep the person's judgement of the last answer; ``answer`` is the right one, if the person wrote it."""
        last = self._last()
        if last.result is None:
            raise RequestError("The last question has no answer to judge: /again asks it again.")
        self.feedback.add("", last.run, Feedback(judgement=judgement, answer=answer or None), last.result)
        self.screen.remark(f"kept: {judgement}")

    def list(self, _: str) -> None:
        show_threads(self.threads.list(), self._line, numbered=True)

    def open_named(self, word: str) -> None:
        """Continue another thread, given by its number in the list or its id."""
        threads = self.threads.list()
        number = int(word) if word.isdecimal() and len(word) < 9 else 0
        self.open(threads[number - 1] if 1 <= number <= len(threads) else find_thread(self.threads, word))

    def new(self, _: str) -> None:
        self.thread = None

    def rename(self, title: str) -> None:
        self.thread = self.threads.rename(self._kept().id, title)

    def export(self, file: str) -> None:
        """Write the thread into a new file."""
        path = Path(file).expanduser()
        export_thread(self.threads, self._kept(), path)
        self.screen.remark(f"written into {shown_path(path)}")

    def delete(self, _: str) -> None:
        thread = self._kept()
        if self.screen.confirmed(f"Delete “{self.threads.get(thread.id).title}” for good?"):
            self.threads.delete(thread.id)
            self.thread = None
            self.screen.remark("deleted")

    def help(self, _: str) -> None:
        for name, command in COMMANDS.items():
            self._line(("{:20}", f"{name} {command.takes}".strip(), "bold"), command.help)
        self._line(("{:20}", "/quit", "bold"), "leave, as the end of input does; a line that ends in \\ goes on")

    def _kept(self) -> Thread:
        if self.thread is None:
            raise RequestError(NO_QUESTION)
        return self.thread

    def _last(self) -> ThreadTurn:
        turns = self.threads.turns(self._kept().id)
        if not turns:
            raise RequestError(NO_QUESTION)
        return turns[-1]

    def _answer(self, turn: ThreadTurn) -> None:
        rag, screen = self.rag, self.screen
        tokens = shows_drafts(rag, self.options, screen)
        finished = traced(self._answers.stream(rag, turn, tokens=tokens), rag, screen)
        if self.options.json:
            screen.json(finished.result.model_dump(mode="json"), indent=None)
        else:
            if finished.result.standalone != finished.result.question:
                screen.line(("understood as: {}", finished.result.standalone, "dim"))
            show_answer(finished, self.options, screen)
        require_model(finished)


@dataclass(frozen=True)
class Command:
    """A command of a chat; ``takes`` names its argument, in brackets if that is optional."""

    run: Callable[[Conversation, str], None]
    takes: str
    help: str


COMMANDS = {
    "/meant": Command(Conversation.meant, "TEXT", "what the last question means: it is asked again as that"),
    "/again": Command(Conversation.again, "[TEXT]", "ask the last question again, in these words"),
    "/right": Command(lambda chat, _: chat.judge("right", ""), "", "the last answer is right"),
    "/wrong": Command(lambda chat, text: chat.judge("wrong", text), "[ANSWER]", "it is wrong; this would be right"),
    "/missing": Command(lambda chat, text: chat.judge("missing", text), "[ANSWER]", "it lacks something"),
    "/threads": Command(Conversation.list, "", "list the threads that are kept"),
    "/open": Command(Conversation.open_named, "N|ID", "go on with another"),
    "/new": Command(Conversation.new, "", "begin another"),
    "/rename": Command(Conversation.rename, "NAME", "give this one another name"),
    "/export": Command(Conversation.export, "FILE", "write it into a new file: .md, .json or .html"),
    "/delete": Command(Conversation.delete, "", "delete it for good"),
    "/help": Command(Conversation.help, "", "list the commands"),
}
