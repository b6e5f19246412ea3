"""What benchmarks of claims share: their declaration, errors as answers, fresh processes whose settings are known."""

import json
import os
import subprocess
import sys

from .common import metric, start


class Claim:
    """Statements that are tried out on the CPU, each in a process of its own."""

    def setup(self, *_):
        self.torch, _ = start()


def claim(number, name, summary, *, hot_path="", **declared):
    """Declares a claim; the summary is the statement itself, and says nothing of whether it is true."""
    return metric(
        name,
        unit="holds",
        direction="higher",
        hot_path=hot_path,
        claim=number,
        tags=["claim"],
        summary=summary,
        **declared,
    )


def failure_of(call):
    """The first line of what a call raises, or None when it raises nothing."""
    try:
        call()
    except Exception as error:
        words = str(error).strip().splitlines() or [type(error).__name__]
        return words[0]
    return None


def ask_new_process(code, timeout, without=(), variables=None):
    """Runs Python code in a fresh process of the same environment and returns the JSON value on its last line.

    Args:
        code: What it runs.
        timeout: Seconds, after which it is killed.
        without: Environment variables that it does not get.
        variables: Those that it gets besides.

    Raises:
        RuntimeError: The process failed; carries the end of what it said.
    """
    environment = {name: value for name, value in os.environ.items() if name not in without}
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=False,
        timeout=timeout,
        capture_output=True,
        env={**environment, **(variables or {})},
    )
    if done.returncode != 0:
        message = f"status {done.returncode}: {done.stderr.decode(errors='replace')[-1000:]}"
        raise RuntimeError(message)
    return json.loads(done.stdout.decode().splitlines()[-1])
