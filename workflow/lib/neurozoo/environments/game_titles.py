"""Names of games as people write them, such as "Ms. Pac-Man" for `ms_pacman`."""

from neurozoo.environments.gymnasium_games import GYMNASIUM_PREFIX

_OWN = {
    "atlantis2": "Atlantis II",
    "darkchambers": "Dark Chambers",
    "et": "E.T.",
    "hero": "H.E.R.O.",
    "jamesbond": "James Bond 007",
    "kaboom": "Kaboom!",
    "koolaid": "Kool-Aid Man",
    "montezuma_revenge": "Montezuma's Revenge",
    "mr_do": "Mr. Do!",
    "ms_pacman": "Ms. Pac-Man",
    "name_this_game": "Name This Game",
    "pacman": "Pac-Man",
    "pitfall": "Pitfall!",
    "pitfall2": "Pitfall II",
    "qbert": "Q*bert",
    "riverraid": "River Raid",
    "sir_lancelot": "Sir Lancelot",
    "tic_tac_toe_3d": "3-D Tic-Tac-Toe",
    "trondead": "Tron: Deadly Discs",
    "up_n_down": "Up 'n Down",
    "wizard_of_wor": "Wizard of Wor",
    "yars_revenge": "Yars' Revenge",
    "river_crossing": "River crossing",
    "hard_maze": "Hard maze",
}


def game_title(game: str) -> str:
    """Returns the name of a game for people; unknown ids get capital letters, Gymnasium's keep their own spelling."""
    if game.startswith(GYMNASIUM_PREFIX):
        return game.removeprefix(GYMNASIUM_PREFIX)
    return _OWN.get(game) or game.replace("_", " ").title()
