"""How several processes are started, and what is said when they end."""

import sys

import pytest
from neurozoo.compute.interruption import Interrupted
from neurozoo.compute.mpi import ALONE, patience_of
from neurozoo.compute.mpi_launch import (
    STOPPED,
    explain_end,
    hosts_of_grid_engine,
    launcher_environment,
    mpi_command,
    run_ranks,
)
from neurozoo.errors import NeurozooError


def test_open_mpi_gets_its_processes_and_may_have_more_than_cores():
    program, *options = mpi_command("mpirun --tag-output", 4, {"PATH": ""})
    assert program.endswith("/mpirun")
    one_machine = ["--mca", "btl", "self,sm"]
    assert options == ["-n", "4", "--bind-to", "none", "--map-by", ":OVERSUBSCRIBE", *one_machine, "--tag-output"]
    in_slurm = mpi_command("mpirun", 4, {"PATH": "", "SLURM_JOB_ID": "7"})
    assert "--mca" not in in_slurm


def test_options_of_the_user_take_the_place_of_ours():
    command = mpi_command("mpirun --map-by seq:OVERSUBSCRIBE --hostfile 'my hosts'", 3, {"PATH": ""})
    assert command[1:] == ["-n", "3", "--bind-to", "none", "--map-by", "seq:OVERSUBSCRIBE", "--hostfile", "my hosts"]


def test_below_grid_engine_the_hosts_are_those_of_the_parallel_environment(tmp_path):
    hosts = tmp_path / "hosts"
    hosts.write_text("n01.cluster 2 all.q@n01 UNDEFINED\nn02.cluster 1 all.q@n02 <NULL>\n")
    command = mpi_command("mpirun", 3, {"PATH": "", "PE_HOSTFILE": str(hosts)})
    assert command[-2:] == ["--host", "n01.cluster:2,n02.cluster:1"]
    hosts.write_text("n01.cluster\n")
    with pytest.raises(NeurozooError, match="The hosts of the job could not be read from"):
        hosts_of_grid_engine(hosts)


def test_slurm_starts_tasks(tmp_path):
    (tmp_path / "srun").write_text("#!/bin/sh\n")
    (tmp_path / "srun").chmod(0o755)
    command = mpi_command("srun --exclusive", 4, {"PATH": str(tmp_path)})
    assert command[1:] == ["--ntasks=4", "--mpi=pmix", "--exclusive"]


def test_jobs_of_slurm_that_know_only_their_number_ask_for_their_nodes():
    known = {"SLURM_JOB_ID": "7", "HOME": "/"}
    several = launcher_environment(3, known, nodes_of=lambda job: [f"n{job}1", "n72"])
    assert (several["SLURM_NODELIST"], several["SLURM_TASKS_PER_NODE"]) == ("n71,n72", "2(x2)")
    one = launcher_environment(3, known, nodes_of=lambda job: ["n01"])
    assert one["HOME"] == "/"
    assert not any(name.startswith("SLURM_") for name in one)
    whole = {"SLURM_JOB_ID": "7", "SLURM_NODELIST": "n[01-02]"}
    assert launcher_environment(3, whole)["SLURM_NODELIST"] == "n[01-02]"


@pytest.mark.parametrize("words", ["mpirum", ""])
def test_a_command_that_does_not_exist_is_named(words):
    with pytest.raises(NeurozooError, match=f"There is no command '{words}'"):
        mpi_command(words, 2, {"PATH": "/nowhere"})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "prterun noticed that process rank 3 with PID 4711 on node n02 exited on\nsignal 9 (Killed).",
            "Rank 3 on n02 was lost (SIGKILL), so the run ends. Start the same command again",
        ),
        ("srun: error: n02: task 1: Killed", "Rank 1 on n02 was lost (Killed), so the run ends."),
        ("neurozoo: The disk is full.\nMPI_ABORT was invoked on rank 0", "The disk is full."),
        ("There are not enough slots available in the system", "There are fewer places for processes than"),
        ("Traceback\n a line\nValueError: 7", "The processes of the run ended with status 3: Traceback  a line ValueE"),
    ],
)  # fmt: skip
def test_the_end_of_processes_is_a_sentence(text, sentence):
    assert explain_end(text, 3).startswith(sentence)


def say_and_exit(status, *said):
    return [sys.executable, "-c", f"import sys; print(*{said}, sep='\\n', file=sys.stderr); sys.exit({status})"]


def test_the_sentence_is_raised_and_everything_else_is_shown(capfd):
    with pytest.raises(NeurozooError, match=r"^The disk is full\.$"):
        run_ranks(say_and_exit(1, "a line", "neurozoo: The disk is full."), count=1, check=lambda: None)
    assert capfd.readouterr().err == "a line\n"
    run_ranks(say_and_exit(0), count=1, check=lambda: None)


def test_a_sentence_is_found_behind_the_zero_that_ends_a_message_of_open_mpi(capfd):
    dashes = "-" * 70
    said = ("ours", dashes, "MPI_ABORT was invoked", dashes, "\0neurozoo: The disk is full.", dashes, "prterun", dashes)
    with pytest.raises(NeurozooError, match=r"^The disk is full\.$"):
        run_ranks(say_and_exit(1, *said), count=1, check=lambda: None)
    assert capfd.readouterr().err == "ours\n"


def test_processes_that_were_stopped_by_others_are_interrupted():
    with pytest.raises(Interrupted):
        run_ranks(say_and_exit(STOPPED), count=1, check=lambda: None)


def stopped(tmp_path, program, *, is_end_of_slice=False):
    """Runs a program that touches `begun`, and then is asked to stop; returns what was raised."""
    words = f"import pathlib, signal, sys, time\nfolder = pathlib.Path({str(tmp_path)!r})\n{program}\ntime.sleep(1800)"

    def check():
        if (tmp_path / "begun").exists():
            raise Interrupted("Stopped by SIGUSR2; the state is saved.", is_end_of_slice=is_end_of_slice)

    with pytest.raises(Interrupted) as stop:
        run_ranks([sys.executable, "-c", words], count=1, check=check)
    return stop.value


def test_a_signal_to_the_job_reaches_its_processes_which_may_save_first(tmp_path):
    program = f"""
def save(*_):
    (folder / "state").write_text("saved")
    sys.exit({STOPPED})
signal.signal(signal.SIGUSR1, save)
(folder / "begun").touch()
"""
    assert stopped(tmp_path, program, is_end_of_slice=True).is_end_of_slice
    assert (tmp_path / "state").read_text() == "saved"


def test_a_process_that_does_not_listen_yet_is_asked_again(tmp_path):
    program = f"""
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
(folder / "begun").touch()
time.sleep(3)
signal.signal(signal.SIGUSR1, lambda *_: sys.exit({STOPPED}))
"""
    assert not stopped(tmp_path, program).is_end_of_slice


def test_a_process_that_the_request_itself_ends_was_stopped_too(tmp_path):
    noticed = "prterun noticed that process rank 0 with PID 1 on node n01 exited on signal 10 (User defined signal 1)."
    program = f"""
signal.signal(signal.SIGUSR1, lambda *_: (print({noticed!r}, file=sys.stderr), sys.exit(138)))
(folder / "begun").touch()
"""
    assert str(stopped(tmp_path, program)).startswith("Stopped by SIGUSR2")


@pytest.mark.parametrize("text", ["soon", "0", "-3", "inf", "nan", ""])
def test_a_patience_that_is_no_number_is_a_sentence(text):
    with pytest.raises(NeurozooError, match=f"NEUROZOO_RANK_PATIENCE should be a number .* but is '{text}'"):
        patience_of({"NEUROZOO_RANK_PATIENCE": text})
    assert (patience_of({}), patience_of({"NEUROZOO_RANK_PATIENCE": "2.5"})) == (600.0, 2.5)


def test_a_lone_process_leads_nobody():
    ALONE.order("play")
    assert (ALONE.is_leader, ALONE.size, ALONE.group([0])) == (True, 1, None)
