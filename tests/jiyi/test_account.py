"""`jiyi up --user`: from root to an account without rights, or a message that says what is in the way."""

import os
import pwd
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from jiyi.account import AccountRefused, become, check_writable

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another account")
_ACCOUNT = "nobody"


def run(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Runs code in a process of its own, since there is no way back; the program counts as readable."""
    code = (
        f"import os, pathlib, sys\nfrom jiyi import account\naccount.PROGRAM = ()\nsys.executable = '/bin/sh'\n{code}"
    )
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@needs_root
def test_root_becomes_the_account_with_its_home_and_without_a_way_back() -> None:
    done = run(
        f"account.become({_ACCOUNT!r})\n"
        "print(*os.getresuid(), *os.getresgid(), *os.getgroups(), os.environ['HOME'], os.environ['USER'])\n"
        "for back in (os.setuid, os.seteuid, os.setgid):\n"
        "    try: back(0)\n"
        "    except PermissionError: print('no way back')"
    )
    account = pwd.getpwnam(_ACCOUNT)
    groups = os.getgrouplist(_ACCOUNT, account.pw_gid)
    expected = [*[account.pw_uid] * 3, *[account.pw_gid] * 3, *groups, account.pw_dir, _ACCOUNT]
    first, *rest = done.stdout.splitlines()
    assert first.split() == [str(word) for word in expected], done.stderr
    assert rest == ["no way back"] * 3


@needs_root
def test_a_folder_that_the_account_cannot_write_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    for folder in [folder for folder in tmp_path.parents if folder.is_relative_to(tempfile.gettempdir())][:-1]:
        folder.chmod(folder.stat().st_mode | 0o011)
    account = pwd.getpwnam(_ACCOUNT)
    home, of_root = tmp_path / "home", tmp_path / "home" / "record.db"
    code = (
        f"account.become({_ACCOUNT!r})\n"
        f"try: account.check_writable({_ACCOUNT!r}, pathlib.Path(sys.argv[1]))\n"
        "except account.AccountRefused as error: print(error)\n"
        "else: print('fine')"
    )
    assert f"cannot write {tmp_path}, as {home} needs" in run(code, home).stdout
    home.mkdir()
    os.chown(home, account.pw_uid, account.pw_gid)
    assert run(code, home).stdout == "fine\n"
    of_root.touch(0o600)
    assert f"cannot write {of_root}" in run(code, home).stdout


@needs_root
def test_a_program_that_the_account_cannot_read_is_named_and_root_stays_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interpreter = tmp_path / "closed" / "python"
    interpreter.parent.mkdir(mode=0o700)
    interpreter.touch(0o755)
    done = run(
        f"sys.executable = sys.argv[1]\ntry: account.become({_ACCOUNT!r})\n"
        "except account.AccountRefused as error: print(error, os.geteuid())",
        interpreter,
    )
    assert f"cannot read {interpreter}" in done.stdout
    assert done.stdout.endswith(" 0\n")


@pytest.mark.parametrize("name", ["root", "no-such-account"])
def test_an_account_that_cannot_be_meant_is_refused(name: str) -> None:
    with pytest.raises(AccountRefused, match=f"--user {name}: "):
        become(name)


def test_nobody_but_root_becomes_another_account(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1234)
    with pytest.raises(AccountRefused, match="only root"):
        become(_ACCOUNT)


def test_the_account_that_it_is_already_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uid = pwd.getpwnam(_ACCOUNT).pw_uid
    monkeypatch.setattr(os, "getuid", lambda: uid)
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    become(_ACCOUNT)
    check_writable(_ACCOUNT, tmp_path / "new" / "home")
