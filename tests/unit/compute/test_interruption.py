import os
import signal
import threading

import pytest
from neurozoo.compute.interruption import Interrupted, Interruption
from neurozoo.signals import OF_TERMINALS, SIGNALS


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_is_noted_and_ends_the_run_at_the_next_check(number):
    with Interruption() as interruption:
        interruption.check()
        os.kill(os.getpid(), number)
        with pytest.raises(Interrupted, match=f"Stopped by {number.name}; the state is saved. Start the same command"):
            interruption.check()


def test_afterwards_signals_do_what_they_did_before():
    before = [signal.getsignal(number) for number in SIGNALS]
    with pytest.raises(ValueError, match="inside"), Interruption():
        raise ValueError("inside")
    assert [signal.getsignal(number) for number in SIGNALS] == before


@pytest.mark.parametrize("number", SIGNALS)
def test_only_signals_of_terminals_stay_ignored_as_in_the_background_of_a_shell(number):
    before = signal.signal(number, signal.SIG_IGN)
    try:
        with Interruption():
            assert (signal.getsignal(number) is signal.SIG_IGN) == (number in OF_TERMINALS)
    finally:
        signal.signal(number, before)


def test_outside_of_the_main_thread_it_does_nothing():
    before = [signal.getsignal(number) for number in SIGNALS]
    seen = []

    def work():
        with Interruption() as interruption:
            interruption.check()
            seen.append([signal.getsignal(number) for number in SIGNALS])

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]


@pytest.mark.parametrize(
    ("numbers", "is_end_of_slice"),
    [
        ([signal.SIGUSR1], True),
        ([signal.SIGUSR2, signal.SIGUSR1], True),
        ([signal.SIGTERM], False),
        ([signal.SIGINT], False),
        ([signal.SIGHUP], False),
        ([signal.SIGXCPU], False),
        ([signal.SIGUSR1, signal.SIGTERM], False),
        ([signal.SIGTERM, signal.SIGUSR1], False),
    ],
)
def test_the_end_of_a_slice_is_distinguished_from_an_end_for_good(numbers, is_end_of_slice):
    with Interruption() as interruption:
        for number in numbers:
            os.kill(os.getpid(), number)
        with pytest.raises(Interrupted) as stop:
            interruption.check()
    assert stop.value.is_end_of_slice == is_end_of_slice
