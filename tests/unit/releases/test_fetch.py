from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from harness.releases.fetch import SourceError, fetch_files, named_version
from harness.releases.sources import DEFAULT, FIND_LINKS, Source, SourceKind

JSON = "application/vnd.pypi.simple.v1+json"
SHA = "a" * 64


def index(server: HTTPServer, path: str = "/simple", credentials: str = "") -> Source:
    url = server.url_for(path)
    if credentials:
        url = url.replace("http://", f"http://{credentials}@")
    return Source(name="test index", label=DEFAULT, kind=SourceKind.INDEX, url=url)


def page(*files: dict) -> str:
    return json.dumps({"meta": {"api-version": "1.1"}, "name": "tiny", "versions": [], "files": list(files)})


def one(filename: str = "tiny-1.0-py3-none-any.whl", **more) -> dict:
    return {"filename": filename, "url": f"../../files/{filename}", "hashes": {"sha256": SHA}, **more}


def test_json_pages_give_every_fact(httpserver: HTTPServer):
    httpserver.expect_request("/simple/tiny/").respond_with_data(
        page(
            one(**{"size": 7, "upload-time": "2022-08-05T17:26:39.5Z", "requires-python": ">=3.8", "yanked": "bad"}),
            one("tiny-1.0.tar.gz", yanked=True),
            one("tiny-1.0.exe"),
            one("tiny-not!a!version.whl"),
            one("other-1.0-py3-none-any.whl"),
        ),
        content_type=JSON,
    )
    wheel, archive = fetch_files(index(httpserver), "tiny")
    assert (wheel.version, wheel.size, wheel.sha256, wheel.requires_python) == ("1.0", 7, SHA, ">=3.8")
    assert wheel.uploaded == datetime(2022, 8, 5, 17, 26, 39, 500000, tzinfo=UTC)
    assert wheel.url == httpserver.url_for("/files/tiny-1.0-py3-none-any.whl")
    assert (wheel.source, wheel.yanked) == ("default", "bad")
    assert (archive.filename, archive.yanked, archive.is_wheel) == ("tiny-1.0.tar.gz", "", False)


def test_html_pages_give_hashes_and_relative_addresses(httpserver: HTTPServer):
    httpserver.expect_request("/whl/cpu/tiny/").respond_with_data(
        f"""<!DOCTYPE html><html><body><h1>Links</h1>
        <a href="/whl/cpu/tiny-2.0%2Bcpu-cp311-cp311-linux_x86_64.whl#sha256={SHA}"
           data-requires-python="&gt;=3.9">tiny-2.0+cpu-cp311-cp311-linux_x86_64.whl</a><br/>
        <a href="../tiny-3.0-py3-none-any.whl" data-yanked="">cpu/tiny-3.0-py3-none-any.whl</a>
        </body></html>""",
        content_type="text/html",
    )
    local, plain = fetch_files(index(httpserver, "/whl/cpu"), "tiny")
    assert (local.version, local.sha256, local.requires_python) == ("2.0+cpu", SHA, ">=3.9")
    assert local.url == httpserver.url_for("/whl/cpu/tiny-2.0%2Bcpu-cp311-cp311-linux_x86_64.whl")
    assert (plain.version, plain.sha256, plain.yanked) == ("3.0", None, "")
    assert plain.url == httpserver.url_for("/whl/cpu/tiny-3.0-py3-none-any.whl")


def test_a_malformed_link_hides_no_other(httpserver: HTTPServer):
    bad = {"filename": "tiny-2.0-py3-none-any.whl", "url": "http://[bad/tiny-2.0-py3-none-any.whl", "hashes": {}}
    httpserver.expect_request("/json/tiny/").respond_with_data(page(bad, {"filename": 5}, one()), content_type=JSON)
    httpserver.expect_request("/html/tiny/").respond_with_data(
        f"""<html><a href="{bad["url"]}">{bad["filename"]}</a>
        <a href='/files/tiny-1.0-py3-none-any.whl'>tiny-1.0-py3-none-any.whl</a></html>""",
        content_type="text/html",
    )
    for path in ("/json", "/html"):
        assert [file.version for file in fetch_files(index(httpserver, path), "tiny")] == ["1.0"]


def test_the_query_of_an_address_stays_at_its_end(httpserver: HTTPServer):
    httpserver.expect_request("/simple/tiny/", query_string="token=x").respond_with_data(page(one()), content_type=JSON)
    source = index(httpserver, "/simple/?token=x")
    assert [file.version for file in fetch_files(source, "tiny")] == ["1.0"]


def test_a_flat_page_is_filtered_by_name(httpserver: HTTPServer):
    httpserver.expect_request("/page.html").respond_with_data(
        '<html><a href="other-1.0-py3-none-any.whl">x</a><a href="a_b-1.0-py3-none-any.whl">y</a></html>',
        content_type="text/html",
    )
    source = Source(name="links", label=FIND_LINKS, kind=SourceKind.PAGE, url=httpserver.url_for("/page.html"))
    assert [f.filename for f in fetch_files(source, "a-b")] == ["a_b-1.0-py3-none-any.whl"]
    assert fetch_files(source, "unknown") == ()


def test_a_folder_is_listed_without_a_network(tmp_path: Path):
    for name in ("tiny-1.0+cpu-py3-none-any.whl", "tiny-0.9.zip", "notes.txt", "tinier-1.0-py3-none-any.whl"):
        (tmp_path / name).write_bytes(b"12345")
    (tmp_path / "tiny-2.0.zip").symlink_to(tmp_path / "gone")
    source = Source(name="links", label=FIND_LINKS, kind=SourceKind.FOLDER, url=str(tmp_path))
    assert [(f.version, f.size, f.source) for f in fetch_files(source, "tiny")] == [
        ("0.9", 5, "find-links"),
        ("1.0+cpu", 5, "find-links"),
    ]
    with pytest.raises(SourceError, match="the folder cannot be read"):
        fetch_files(Source(name="x", label=FIND_LINKS, kind=SourceKind.FOLDER, url=str(tmp_path / "none")), "tiny")


def test_an_unknown_subject_is_no_error(httpserver: HTTPServer):
    httpserver.expect_request("/simple/tiny/").respond_with_data("no", status=404)
    assert fetch_files(index(httpserver), "tiny") == ()


def test_redirects_are_followed(httpserver: HTTPServer):
    httpserver.expect_request("/simple/tiny/").respond_with_data(
        "", status=301, headers={"Location": httpserver.url_for("/moved/tiny/")}
    )
    httpserver.expect_request("/moved/tiny/").respond_with_data(page(one()), content_type=JSON)
    (file,) = fetch_files(index(httpserver), "tiny")
    assert file.url == httpserver.url_for("/files/tiny-1.0-py3-none-any.whl")


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        ({"response_data": "oops", "status": 500}, "answered 500: it is broken or overloaded"),
        ({"response_data": "who?", "status": 401}, "answered 401: it wants other credentials"),
        ({"response_data": "tea", "status": 418}, "answered 418"),
        ({"response_data": "{garbage", "content_type": JSON}, "broken JSON"),
        ({"response_data": b"\xff\xfe\x00", "content_type": JSON}, "broken JSON"),
        ({"response_data": "[1, 2]", "content_type": JSON}, "broken JSON"),
        (
            {"response_data": '{"meta": {"api-version": "9.0"}, "name": "tiny", "files": []}', "content_type": JSON},
            "JSON",
        ),
        ({"response_data": page()[:-20], "content_type": JSON}, "broken JSON"),
        ({"response_data": "<html><a href='tiny-1.0-py3-none-any.whl'>t", "content_type": "text/html"}, "broke off"),
        ({"response_data": "<html>Please sign in</html>", "content_type": "text/html"}, "lists no file of tiny"),
        ({"response_data": "{}", "content_type": "application/json"}, "answered with application/json"),
        ({"response_data": "%PDF", "content_type": "application/pdf"}, "answered with application/pdf"),
        (
            {"response_data": "not gzip", "content_type": JSON, "headers": {"Content-Encoding": "gzip"}},
            "the answer broke off",
        ),
    ],
)
def test_every_bad_answer_is_named(httpserver: HTTPServer, answer: dict, cause: str):
    httpserver.expect_request("/simple/tiny/").respond_with_data(**answer)
    with pytest.raises(SourceError) as caught:
        fetch_files(index(httpserver), "tiny")
    assert caught.value.cause.find(cause) >= 0, caught.value.cause
    assert str(caught.value).startswith("test index: ")


def test_a_body_shorter_than_announced_is_named(httpserver: HTTPServer):
    def short(_: Request) -> Response:
        response = Response(page(one())[:40], content_type=JSON)
        response.headers["Content-Length"] = "4000"
        response.automatically_set_content_length = False
        return response

    httpserver.expect_request("/simple/tiny/").respond_with_handler(short)
    with pytest.raises(SourceError, match="the answer broke off"):
        fetch_files(index(httpserver), "tiny")


def test_an_index_that_is_silent_is_given_up(httpserver: HTTPServer):
    def slow(_: Request) -> Response:
        time.sleep(0.6)
        return Response("late")

    httpserver.expect_request("/simple/tiny/").respond_with_handler(slow)
    with pytest.raises(SourceError, match=r"gave no answer within 0\.1 s"):
        fetch_files(index(httpserver), "tiny", timeout=0.1)


def test_an_index_that_drips_is_given_up():
    # pytest-httpserver sends whole answers, so this one is spoken by hand: a byte every 20 ms, for ever.
    with socket.create_server(("127.0.0.1", 0)) as server:
        stop = threading.Event()

        def drip() -> None:
            connection, _ = server.accept()
            with connection, contextlib.suppress(OSError):
                connection.sendall(f"HTTP/1.1 200 OK\r\nContent-Type: {JSON}\r\nContent-Length: 9999\r\n\r\n".encode())
                while not stop.wait(0.02):
                    connection.sendall(b" ")

        thread = threading.Thread(target=drip)
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/simple"
        try:
            with pytest.raises(SourceError, match=r"not complete after 0\.3 s"):
                fetch_files(Source(name="x", label=DEFAULT, kind=SourceKind.INDEX, url=url), "tiny", timeout=0.3)
        finally:
            stop.set()
            thread.join()


def test_a_circle_of_redirects_is_named(httpserver: HTTPServer):
    httpserver.expect_request("/simple/tiny/").respond_with_data(
        "", status=302, headers={"Location": httpserver.url_for("/simple/tiny/")}
    )
    with pytest.raises(SourceError, match="redirects in a circle"):
        fetch_files(index(httpserver), "tiny")


@pytest.mark.parametrize(
    ("url", "cause"),
    [
        ("http://127.0.0.1:9/simple", "cannot be reached"),
        ("http://no-such-host.invalid/simple", "no host of that name"),
        ("ftp://127.0.0.1/simple", "only http and https"),
        ("http://:80/simple", "malformed"),
    ],
)
def test_unreachable_addresses_are_named(url: str, cause: str):
    source = Source(name="gone", label=DEFAULT, kind=SourceKind.INDEX, url=url.replace("//", "//me:secret@", 1))
    with pytest.raises(SourceError, match=cause) as caught:
        fetch_files(source, "tiny", timeout=2)
    assert "secret" not in str(caught.value)


def test_credentials_are_sent_and_not_kept(httpserver: HTTPServer):
    httpserver.expect_request("/simple/tiny/", headers={"Authorization": "Basic bWU6c2VjcmV0"}).respond_with_data(
        page(one()), content_type=JSON
    )
    (file,) = fetch_files(index(httpserver, credentials="me:secret"), "tiny")
    assert "secret" not in file.url


@pytest.mark.parametrize(
    ("filename", "version"),
    [
        ("tiny-1.0+cpu-py3-none-any.whl", "1.0+cpu"),
        ("tiny-1.0.0.dev20260701-py3-none-any.whl", "1.0.0.dev20260701"),
        ("tiny-1.0.tar.gz", "1.0"),
        ("Tiny-1.0.zip", "1.0"),
        ("tiny-1.0.egg", None),
        ("tiny.whl", None),
        ("other-1.0.tar.gz", None),
    ],
)
def test_versions_in_names(filename: str, version: str | None):
    assert named_version(filename, "tiny") == version
