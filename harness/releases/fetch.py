"""Reads what a source offers for a subject: project pages in JSON or HTML, flat pages, folders.

pypi-simple parses the pages. It is imported late: a catalogue that is on disk must load without it.
"""

from __future__ import annotations

import html
import json
import logging
import os
import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_never
from urllib.parse import unquote, urljoin, urlsplit, urlunsplit

from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version

from harness.cells.wheels import OfferedFile
from harness.releases.sources import Source, SourceKind, redact

if TYPE_CHECKING:
    from pypi_simple import DistributionPackage, ProjectPage
    from urllib3 import BaseHTTPResponse

__all__ = ["SourceError", "fetch_files", "named_version"]

log = logging.getLogger(__name__)

_HREF = re.compile(rb"""href\s*=\s*(?P<quote>["'])(?P<address>.*?)(?P=quote)""", re.IGNORECASE | re.DOTALL)

#: Seconds to wait for a connection, and for each further piece of an answer.
CONNECT_TIMEOUT = 3.0
#: The largest page of today's indexes has a few megabytes.
MAX_BYTES = 100_000_000


class SourceError(Exception):
    """A source could not be read; the text is the cause, free of credentials."""

    def __init__(self, source: Source, cause: str) -> None:
        super().__init__(f"{source.name}: {cause}")
        self.source = source
        self.cause = cause


@dataclass(frozen=True, slots=True)
class _Answer:
    content_type: str
    charset: str | None
    body: bytes
    url: str


def fetch_files(source: Source, subject: str, *, timeout: float = 15.0) -> tuple[OfferedFile, ...]:
    """The wheels and source archives that a source offers; none when it does not know the subject.

    Args:
        source: Where to ask.
        subject: The normalised name of a package.
        timeout: Seconds for the whole answer.

    Raises:
        SourceError: It cannot be reached, or its answer is not a list of files.
    """
    match source.kind:
        case SourceKind.FOLDER:
            return tuple(_folder_files(source, subject))
        case SourceKind.INDEX:
            answer = _download(source, _project_page(source.address, subject), timeout)
            if answer is None:
                return ()
            files = tuple(_page_files(source, subject, _parse(source, subject, answer).packages))
            if not files:
                # A sign-in page of a network answers every question with 200 and HTML.
                raise SourceError(source, f"answered with a page that lists no file of {subject}")
            return files
        case SourceKind.PAGE:
            answer = _download(source, source.address, timeout)
            if answer is None:
                raise SourceError(source, "answered 404, there is no such page")
            return tuple(_page_files(source, subject, _parse(source, subject, answer).packages))
        case _:
            assert_never(source.kind)


def _project_page(address: str, subject: str) -> str:
    # An address may end with a query (a token, a snapshot), which stays at the end.
    parts = urlsplit(address)
    return urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/{subject}/"))


def named_version(filename: str, subject: str) -> str | None:
    """The normalised version in a file's name, or None when the file is no wheel or source archive of the subject."""
    try:
        if filename.endswith(".whl"):
            name, version = parse_wheel_filename(filename)[:2]
        elif filename.endswith((".tar.gz", ".zip")):
            name, version = parse_sdist_filename(filename)
        else:
            return None
    except (InvalidWheelFilename, InvalidSdistFilename, InvalidVersion):
        return None
    return str(version) if name == canonicalize_name(subject) else None


def _folder_files(source: Source, subject: str) -> Iterator[OfferedFile]:
    try:
        paths = sorted(path for path in Path(source.url).iterdir() if path.is_file())
    except OSError as error:
        raise SourceError(source, f"the folder cannot be read ({error.strerror or error})") from error
    for path in paths:
        version = named_version(path.name, subject)
        if version is not None:
            yield OfferedFile(
                filename=path.name,
                version=version,
                source=source.label,
                url=path.as_uri(),
                size=path.stat().st_size,
            )


def _download(source: Source, url: str, timeout: float) -> _Answer | None:
    import requests  # noqa: PLC0415
    import urllib3  # noqa: PLC0415
    from pypi_simple import ACCEPT_ANY  # noqa: PLC0415

    if urlsplit(url).scheme not in {"http", "https"}:
        raise SourceError(source, "only http and https addresses are read")
    deadline = time.monotonic() + timeout
    try:
        with requests.get(
            url,
            headers={"Accept": ACCEPT_ANY},
            stream=True,
            timeout=(min(CONNECT_TIMEOUT, timeout), timeout),
            # What uv trusts is trusted here too; without it requests reads its own variables, or has its own list.
            verify=os.environ.get("SSL_CERT_FILE") or True,
        ) as response:
            if response.status_code == 404:
                return None
            if response.status_code != 200:
                raise SourceError(source, _status_cause(response.status_code))
            body = _read_all(source, response.raw, deadline, timeout)
            content_type, _, parameters = response.headers.get("Content-Type", "").partition(";")
            charset = parameters.partition("charset=")[2].strip(' "') or None
            return _Answer(content_type.strip().lower(), charset, body, redact(response.url))
    except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
        # The text of the error may hold the address with its password: only its kind is told.
        raise SourceError(source, _failure_cause(error, timeout)) from None


def _read_all(source: Source, raw: BaseHTTPResponse, deadline: float, timeout: float) -> bytes:
    body = bytearray()
    # read1 returns what has come: read would wait for a full buffer, and a slow drip would hold it for hours.
    while piece := raw.read1(1 << 16, decode_content=True):
        body += piece
        if time.monotonic() > deadline:
            raise SourceError(source, f"the answer was not complete after {timeout:g} s")
        if len(body) > MAX_BYTES:
            raise SourceError(source, f"the answer is larger than {MAX_BYTES // 1_000_000} MB")
    return bytes(body)


def _status_cause(status: int) -> str:
    match status:
        case 401 | 403 | 407:
            return f"answered {status}: it wants other credentials"
        case _ if status >= 500:
            return f"answered {status}: it is broken or overloaded"
        case _:
            return f"answered {status}"


def _failure_cause(error: Exception, timeout: float) -> str:
    import requests  # noqa: PLC0415
    import urllib3  # noqa: PLC0415

    match error:
        case requests.ConnectTimeout():
            return "cannot be reached (no connection in time)"
        case requests.Timeout() | urllib3.exceptions.ReadTimeoutError():
            return f"gave no answer within {timeout:g} s"
        case requests.exceptions.SSLError():
            return "its certificate is not trusted"
        case requests.exceptions.ProxyError():
            return "the proxy refuses or cannot be reached"
        case requests.TooManyRedirects():
            return "redirects in a circle"
        case urllib3.exceptions.ProtocolError() | urllib3.exceptions.DecodeError():
            return "the answer broke off"
        case requests.exceptions.InvalidURL() | requests.exceptions.InvalidSchema():
            return "its address is malformed"
        case requests.ConnectionError():
            # The standard library's resolver error is the deepest cause of an unknown host.
            return "no host of that name" if "NameResolution" in repr(error) else "cannot be reached"
        case _:
            return f"cannot be read ({type(error).__name__})"


def _parse(source: Source, subject: str, answer: _Answer) -> ProjectPage:
    match answer.content_type:
        case "application/vnd.pypi.simple.v1+json":
            try:
                return _json_page(json.loads(answer.body), answer.url)
            except Exception as error:
                # Whatever the parser trips over (encoding, JSON, missing keys, a newer major version): it is no page.
                log.debug("%s: %s", source.name, error)
                raise SourceError(source, f"answered with broken JSON ({_first_line(error)})") from None
        case "text/html" | "application/vnd.pypi.simple.v1+html":
            start, end = answer.body[:1000].lower(), answer.body[-1000:].lower()
            if b"<html" in start and b"</html>" not in end:
                raise SourceError(source, "the answer broke off")
            try:
                return _html_page(subject, answer)
            except Exception as error:
                log.debug("%s: %s", source.name, error)
                raise SourceError(source, f"answered with broken HTML ({_first_line(error)})") from None
        case other:
            raise SourceError(source, f"answered with {other or 'no content type'}, not with a list of files")


def _json_page(document: Any, url: str) -> ProjectPage:
    from pypi_simple import ProjectPage  # noqa: PLC0415

    def reads(file: Any) -> bool:
        try:
            ProjectPage.from_json_data({**document, "files": [file]}, url)
        except Exception as error:
            log.debug("%s: passed over: %r: %s", url, file, error)
            return False
        return True

    try:
        return ProjectPage.from_json_data(document, url)
    except Exception:
        # One malformed entry must not hide the others; where all are, it is the page.
        listed = document.get("files") if isinstance(document, dict) else None
        good = [file for file in listed if reads(file)] if isinstance(listed, list) else []
        if not good:
            raise
        return ProjectPage.from_json_data({**document, "files": good}, url)


def _html_page(subject: str, answer: _Answer) -> ProjectPage:
    from pypi_simple import ProjectPage  # noqa: PLC0415

    def kept(match: re.Match[bytes]) -> bytes:
        address = html.unescape(match["address"].decode("utf-8", errors="replace"))
        try:
            urlsplit(urljoin(answer.url, address))
        except ValueError as error:
            log.debug("%s: passed over: %s: %s", answer.url, address, error)
            return b""  # an anchor without an address is no link
        return match[0]

    try:
        return ProjectPage.from_html(subject, answer.body, answer.url, answer.charset)
    except ValueError:
        return ProjectPage.from_html(subject, _HREF.sub(kept, answer.body), answer.url, answer.charset)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:100]


def _page_files(source: Source, subject: str, packages: Iterable[DistributionPackage]) -> Iterator[OfferedFile]:
    for package in packages:
        # The text of a link may be a path; the address always ends with the name.
        filename = unquote(urlsplit(package.url).path.rpartition("/")[2]) or package.filename
        version = _version_of(package.version) if package.project and package.filename == filename else None
        if version is None or canonicalize_name(package.project or "") != subject:
            version = named_version(filename, subject)
        if version is None or not filename.endswith((".whl", ".tar.gz", ".zip")):
            continue
        yield OfferedFile(
            filename=filename,
            version=version,
            source=source.label,
            url=redact(package.url),
            size=package.size,
            uploaded=package.upload_time,
            sha256=package.digests.get("sha256"),
            requires_python=package.requires_python or "",
            yanked=(package.yanked_reason or "") if package.is_yanked else None,
        )


@lru_cache(maxsize=4096)
def _version_of(text: str | None) -> str | None:
    try:
        return str(Version(text)) if text else None
    except InvalidVersion:
        return None
