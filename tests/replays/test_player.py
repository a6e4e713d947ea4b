"""The player in Chromium: no request, no complaint, keys, buttons, sentence, table, widths."""

import time

import pytest

import pellucid
from pellucid.cluster import KMeans
from pellucid.data.datasets import load
from pellucid.ensemble import AdaBoostClassifier
from pellucid.linear_model import BayesianRegression, LassoCV, LogisticRegression, Perceptron
from pellucid.mixture import GaussianMixture
from pellucid.neural_network import MLPClassifier
from pellucid.svm import SVC
from pellucid.tree import DecisionTreeClassifier, DecisionTreeRegressor

pytestmark = [
    pytest.mark.xdist_group("browser"),
    pytest.mark.filterwarnings("ignore::pellucid.PellucidWarning"),
]


@pytest.fixture(scope="module")
def replays():
    """Replays of every scene, by name."""
    iris, penguins, diabetes, tips = map(load, ("iris", "penguins", "diabetes", "tips"))
    bill = tips.X.select(["total_bill"])
    models = {
        "descent": (LogisticRegression(solver="gd", max_iter=60, tol=0), iris.X, iris.y),
        "perceptron": (Perceptron(shuffle=False, max_iter=3), iris.X, iris.y),
        "lasso": (LassoCV(), diabetes.X, diabetes.y),
        "posterior": (BayesianRegression(), bill, tips.y),
        "tree": (DecisionTreeClassifier(max_depth=3), penguins.X, penguins.y),
        "numbers": (DecisionTreeRegressor(max_depth=3), tips.X, tips.y),
        "adaboost": (AdaBoostClassifier(n_estimators=10), penguins.X, penguins.y),
        "network": (MLPClassifier(hidden_layer_sizes=(5,), max_iter=20, random_state=0),
                    iris.X, iris.y),
        "svm": (SVC(), iris.X, iris.y == "setosa"),
        "clusters": (KMeans(3, random_state=0), iris.X, None),
        "mixture": (GaussianMixture(3, random_state=0), iris.X, None),
    }  # fmt: skip
    return {name: pellucid.replay(*given) for name, given in models.items()}


SCENES = (
    "descent", "perceptron", "lasso", "posterior", "tree", "numbers", "adaboost", "network", "svm",
    "clusters", "mixture",
)  # fmt: skip


@pytest.fixture(scope="module")
def pages(replays, tmp_path_factory):
    folder = tmp_path_factory.mktemp("replays")
    for name, made in replays.items():
        made.save(folder / f"{name}.html")
    return folder


def ready(browser, path, **how):
    browser.open(path, **how)
    wait(browser, "document.body.dataset.ready === 'yes'")


def wait(browser, condition):
    end = time.monotonic() + 20
    while not browser.ask(condition):
        assert time.monotonic() < end, f"{condition}: {browser.complaints}"
        time.sleep(0.05)


def press(browser, key, code=None):
    for kind in ("keyDown", "keyUp"):
        text = {"text": key} if kind == "keyDown" and len(key) == 1 else {}
        browser.call("Input.dispatchKeyEvent", type=kind, key=key, code=code or key, **text)


def sentence(browser):
    return browser.ask("document.getElementById('sentence').textContent")


def step(browser):
    return int(browser.ask("document.getElementById('scrub').value"))


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("width", [360, 1000])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_scene_draws_every_step_quietly(browser, pages, replays, name, width, dark):
    ready(browser, pages / f"{name}.html", width=width, dark=dark)
    assert [url for url in browser.requests if not url.startswith("file:")] == []
    assert browser.ask("document.documentElement.scrollWidth") <= width
    sentences = replays[name].frames["sentences"]
    assert sentence(browser) == sentences[0]
    for share in (0.3, 0.7, 1):
        at = int(share * (len(sentences) - 1))
        browser.ask(f"document.getElementById('scrub').value = {at};"
                    "document.getElementById('scrub').oninput()")  # fmt: skip
        wait(browser, f"document.getElementById('counter').textContent.startsWith('{at + 1} ')")
        assert sentence(browser) == sentences[at]
    empty = (
        "[...document.querySelectorAll('figure > canvas')].filter(c => !c.getContext('2d')"
        ".getImageData(0, 0, c.width, c.height).data.some(v => v)).length"
    )
    assert browser.ask(empty) == 0
    assert not browser.complaints


def test_nodes_of_a_narrow_tree_have_whole_numbers(browser, pages):
    """Levels with few nodes have wide ones: only their leaves, side by side, leave out "n ="."""
    ready(browser, pages / "tree.html", width=360, height=900)
    browser.ask(
        "window.said = []; const old = CanvasRenderingContext2D.prototype.fillText;"
        "CanvasRenderingContext2D.prototype.fillText = function (text, ...more) {"
        "window.said.push(text); old.call(this, text, ...more); }; 0"
    )
    press(browser, "End")
    wait(browser, "window.said.includes('n = 344')")
    said = browser.ask("window.said")
    assert "≤ 206.5" in said
    assert not [text for text in said if text.startswith("n =") and text.endswith("…")]


def test_a_wide_table_takes_the_focus_and_its_arrow_keys(browser, pages):
    wide = "document.querySelector('.scroll')"
    ready(browser, pages / "tree.html", width=1000)
    assert browser.ask(f"{wide}.tabIndex") == -1
    ready(browser, pages / "tree.html", width=360)
    press(browser, "ArrowRight")
    wait(browser, f"{wide}.tabIndex === 0")
    browser.ask(f"{wide}.focus()")
    right = {"key": "ArrowRight", "code": "ArrowRight", "windowsVirtualKeyCode": 39}
    browser.call("Input.dispatchKeyEvent", type="rawKeyDown", **right)
    wait(browser, f"{wide}.scrollLeft > 0")
    assert step(browser) == 1
    press(browser, "End")
    wait(browser, "document.getElementById('next').disabled")
    assert not browser.complaints


def test_keys(browser, pages, replays):
    ready(browser, pages / "descent.html")
    sentences = replays["descent"].frames["sentences"]
    last = len(sentences) - 1
    for key, at in (("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", last),
                    ("ArrowRight", last), ("Home", 0), ("ArrowLeft", 0), ("PageUp", 7)):  # fmt: skip
        press(browser, key)
        wait(browser, f"Number(document.getElementById('scrub').value) === {at}")
        assert sentence(browser) == sentences[at]
    press(browser, "Home")
    press(browser, " ", "Space")
    wait(browser, "document.getElementById('play').textContent === 'Pause'")
    wait(browser, "Number(document.getElementById('scrub').value) > 2")
    press(browser, " ", "Space")
    wait(browser, "document.getElementById('play').textContent === 'Play'")
    time.sleep(0.3)
    now = step(browser)
    time.sleep(0.5)
    assert step(browser) == now and sentence(browser) == sentences[now]
    assert not browser.complaints


def test_buttons_have_names_and_work(browser, pages, replays):
    ready(browser, pages / "tree.html")
    names = browser.ask("[...document.querySelectorAll('button, input, select')]"
                        ".map(b => b.ariaLabel || b.textContent).join('|')")  # fmt: skip
    assert names == "First step|Previous step|Play|Next step|Last step|Step|Speed"
    sentences = replays["tree"].frames["sentences"]
    for button, at in (
        ("next", 1),
        ("last", len(sentences) - 1),
        ("back", len(sentences) - 2),
        ("first", 0),
    ):
        browser.ask(f"document.getElementById('{button}').click()")
        wait(browser, f"Number(document.getElementById('scrub').value) === {at}")
        assert sentence(browser) == sentences[at]
    assert browser.ask("document.getElementById('back').disabled")
    browser.ask("document.getElementById('speed').value = 7;"
                "document.getElementById('speed').onchange();"
                "document.getElementById('play').click()")  # fmt: skip
    wait(browser, f"Number(document.getElementById('scrub').value) === {len(sentences) - 1}")
    wait(browser, "document.getElementById('play').textContent === 'Play'")


def test_the_address_names_a_step_and_the_table_shows_its_numbers(browser, pages, replays):
    frames = replays["descent"].frames
    ready(browser, pages / "descent.html")
    browser.ask("location.hash = '#step=21'")
    wait(browser, "Number(document.getElementById('scrub').value) === 20")
    assert sentence(browser) == frames["sentences"][20]
    browser.ask("document.getElementById('numbers').open = true")
    wait(browser, "document.querySelectorAll('#values tr').length > 0")
    rows = browser.ask(
        "[...document.querySelectorAll('#values tr')].map(r => r.innerText).join(';')"
    )
    cells = dict(row.split("\t") for row in rows.split(";"))
    assert cells["iteration"] == str(frames["numbers"]["iteration"][20])
    assert float(cells["objective"]) == pytest.approx(frames["numbers"]["objective"][20], rel=1e-4)


def test_reduced_motion_moves_only_by_whole_steps(browser, pages):
    ready(browser, pages / "clusters.html")
    picture = "document.querySelector('figure > canvas').toDataURL()"
    both = f"[Number(document.getElementById('scrub').value), {picture}]"
    seen = {}
    for motion in ("no-preference", "reduce"):
        features = [{"name": "prefers-reduced-motion", "value": motion}]
        browser.call("Emulation.setEmulatedMedia", media="", features=features)
        browser.ask("document.getElementById('first').click();"
                    "document.getElementById('speed').value = 0;"
                    "document.getElementById('speed').onchange();"
                    "document.getElementById('play').click()")  # fmt: skip
        shots = set()
        for _ in range(8):
            time.sleep(0.15)
            shots.add(tuple(browser.ask(both)))
        browser.ask("document.getElementById('play').click()")
        seen[motion] = shots
    still = {at for at, _ in seen["reduce"]}
    assert len(seen["reduce"]) == len(still), "one picture per step"
    assert len(seen["no-preference"]) > len({at for at, _ in seen["no-preference"]})
    assert not browser.complaints


def test_nothing_plays_by_itself(browser, pages):
    ready(browser, pages / "mixture.html")
    time.sleep(0.5)
    assert step(browser) == 0
    assert browser.ask("document.getElementById('sentence').ariaLive") == "polite"


def test_several_players_on_one_notebook_page(browser, replays, tmp_path):
    page = tmp_path / "notebook.html"
    body = "".join(replays[name]._repr_html_() for name in ("tree", "clusters"))
    page.write_text(f"<!doctype html><meta charset=utf-8><p id=sentence>mine</p>{body}", "utf-8")
    browser.open(page, height=3000)
    assert sentence(browser) == "mine"
    found, own = [], browser.session
    for target in browser.call("Target.getTargets")["targetInfos"]:
        if target["type"] == "iframe":
            attached = browser.call(
                "Target.attachToTarget", targetId=target["targetId"], flatten=True
            )
            browser.session = attached["sessionId"]
            wait(browser, "document.body.dataset.ready === 'yes'")
            browser.ask("document.getElementById('next').click()")
            wait(browser, "document.getElementById('counter').textContent.startsWith('2 ')")
            found.append(sentence(browser))
            browser.session = own
    expected = [replays[name].frames["sentences"][1] for name in ("tree", "clusters")]
    assert sorted(found) == sorted(expected)
    assert sentence(browser) == "mine" and not browser.complaints


def test_names_from_the_table_stay_text(browser, tmp_path):
    import numpy as np

    bad = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1>"
    rng = np.random.default_rng(0)
    y = [bad if k % 2 else "b" for k in range(30)]
    pellucid.replay(LogisticRegression(), rng.normal(size=(30, 2)), y, title=bad).save(
        tmp_path / "a.html"
    )
    ready(browser, tmp_path / "a.html")
    assert browser.ask("typeof window.hacked") == "undefined"
    assert bad in browser.ask("document.querySelector('h1').textContent")
    assert not browser.complaints


def test_without_scripts_the_last_sentence_is_there(browser, pages, replays):
    browser.open(pages / "tree.html", scripts=False)
    root = browser.call("DOM.getDocument", depth=-1)["root"]["nodeId"]
    found = browser.call("DOM.querySelector", nodeId=root, selector="#sentence")["nodeId"]
    text = browser.call("DOM.getOuterHTML", nodeId=found)["outerHTML"]
    assert replays["tree"].frames["sentences"][-1].split(" <=")[0] in text
    browser.call("Emulation.setScriptExecutionDisabled", value=False)
