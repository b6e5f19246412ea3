"""What uv's configuration files say about indexes, in the form of its environment variables."""

from __future__ import annotations

import logging
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

__all__ = ["with_uv_settings"]

log = logging.getLogger(__name__)


def with_uv_settings(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment, with the indexes of uv's own configuration files added as the variables that mean the same.

    A variable wins over a file, and the user's file over the machine's, as in uv; `UV_INDEX` adds to the indexes of the
    file. Files of a project are not read, for uv is run in a scratch folder.
    """
    found = dict(environ)
    for path in _files(environ):
        for name, value in _variables(path).items():
            if name == "UV_INDEX":
                found[name] = f"{found.get(name, '')} {value}".strip()
            elif name == "UV_DEFAULT_INDEX":
                if not (found.get("UV_DEFAULT_INDEX") or found.get("UV_INDEX_URL")):
                    found[name] = value
            elif not found.get(name):
                found[name] = value
    return found


def _files(environ: Mapping[str, str]) -> Iterator[Path]:
    if environ.get("UV_NO_CONFIG", "").lower() in {"1", "true", "yes"}:
        return
    if named := environ.get("UV_CONFIG_FILE"):
        yield Path(named)
        return
    # An environment without a home is no user's, and has no settings.
    if home := environ.get("HOME"):
        yield Path(environ.get("XDG_CONFIG_HOME") or Path(home) / ".config") / "uv" / "uv.toml"
        for folder in (environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":"):
            yield Path(folder) / "uv" / "uv.toml"
        yield Path("/etc/uv/uv.toml")


def _variables(path: Path) -> dict[str, str]:
    try:
        settings = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        log.warning("uv's settings in %s cannot be read: %s", path, error)
        return {}
    pip = settings.get("pip")
    settings = settings | (pip if isinstance(pip, dict) else {})
    found: dict[str, str] = {}
    extra, default = _indexes(settings.get("index"))
    if extra:
        found["UV_INDEX"] = " ".join(extra)
    if whole := default or settings.get("index-url"):
        found["UV_DEFAULT_INDEX"] = str(whole)
    if urls := _texts(settings.get("extra-index-url")):
        found["UV_EXTRA_INDEX_URL"] = " ".join(urls)
    if links := _texts(settings.get("find-links")):
        found["UV_FIND_LINKS"] = ",".join(link if "://" in link else str(path.parent / link) for link in links)
    return found


def _indexes(entries: Any) -> tuple[list[str], str]:
    extra: list[str] = []
    default = ""
    for entry in entries if isinstance(entries, list) else ():
        if not isinstance(entry, dict) or not isinstance(entry.get("url"), str) or entry.get("explicit"):
            continue
        if entry.get("default"):
            default = entry["url"]
        else:
            extra.append(f"{entry['name']}={entry['url']}" if entry.get("name") else entry["url"])
    return extra, default


def _texts(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
