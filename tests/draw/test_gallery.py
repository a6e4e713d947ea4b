"""Every chart, table and card keeps the same promises, whatever it is given."""

import itertools
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest

from pellucid.draw import label_text as words
from pellucid.draw.style import CSS
from tests.draw.gallery import gallery, page

SVG = "{http://www.w3.org/2000/svg}"
GALLERY = dict(gallery())
PICTURES = [name for name in GALLERY if SVG[1:-1] in GALLERY[name]]


@pytest.fixture(params=GALLERY)
def markup(request):
    return GALLERY[request.param]


@pytest.fixture(params=PICTURES)
def picture(request):
    root = ET.fromstring(GALLERY[request.param])
    return next(root.iter(f"{SVG}svg"))


def test_well_formed_and_nothing_can_run(markup):
    tags = {element.tag.removeprefix(SVG) for element in ET.fromstring(markup).iter()}
    assert not tags & {"script", "foreignObject", "iframe", "a", "use", "animate", "set"}
    for element in ET.fromstring(markup).iter():
        assert not [key for key in element.attrib if key.startswith("on") or key == "style"]


def test_no_address_outside_the_file(markup):
    for element in ET.fromstring(markup).iter():
        for key, value in element.attrib.items():
            if key.endswith("href"):
                assert value.startswith("data:image/png;base64,")
            assert "url(" not in value or value.startswith("url(#pl-hatch-")
    assert "http" not in markup.replace("http://www.w3.org/2000/svg", "")


def test_no_character_turns_or_hides_text(markup):
    assert not re.search(
        "[\u0000-\u0008\u000b-\u001f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", markup
    )
    markup.encode("utf-8")


def test_no_number_escapes(markup):
    drawn = [
        value
        for element in ET.fromstring(markup).iter()
        for key, value in element.attrib.items()
        if key in {"d", "x", "y", "width", "height", "transform", "viewBox"}
    ]
    text = " ".join(drawn)
    assert not re.search(r"nan|inf|\d\.\d\d|e[-+]?\d", text)
    assert all(abs(float(n)) <= 1e5 for n in re.findall(r"-?\d+(?:\.\d+)?", text))


def test_files_stay_small(markup):
    assert len(markup) < 45_000


def test_equal_input_gives_equal_output():
    assert dict(gallery()) == GALLERY
    again = subprocess.run(
        [sys.executable, "-m", "tests.draw.gallery"],
        capture_output=True, check=True, env={"PYTHONHASHSEED": "123", "PYTHONUTF8": "1"},
    )  # fmt: skip
    assert again.stdout.decode().strip() == page()


def test_pictures_speak(picture):
    assert picture.get("role") == "img"
    title, description = picture[0], picture[1]
    assert (title.tag, description.tag) == (f"{SVG}title", f"{SVG}desc")
    assert title.text == picture.get("aria-label")
    assert title.text.strip()
    assert description.text.endswith(".")
    assert len(title.text) <= words.LONGEST_LABEL


def test_pictures_carry_their_data(markup):
    root = ET.fromstring(markup)
    if root.tag == "figure":
        assert [child.tag for child in root][-1] == "details"
        assert root.find("details/table") is not None


def test_texts_stay_inside_the_picture(picture):
    """Estimated widths err upwards, so this holds for real fonts too."""
    _, _, width, height = map(float, picture.get("viewBox").split())
    for x, y, anchor, element in placed_texts(picture):
        if "rotate" in element.get("transform", ""):
            continue
        size = float(element.get("font-size", 13))
        length = words.width(element_text(element)) * size
        start = x - {"middle": length / 2, "end": length}.get(anchor, 0)
        assert start >= -2, element_text(element)
        assert start + length <= width + 4, element_text(element)
        assert y - size * 0.7 > 0
        assert y <= height


def test_texts_do_not_overlap(picture):
    boxes = []
    for x, y, anchor, element in placed_texts(picture):
        if "rotate" in element.get("transform", "") or element.get("font-weight") == "600":
            continue
        length = words.width(element_text(element)) * 13
        start = x - {"middle": length / 2, "end": length}.get(anchor, 0)
        boxes.append((start, start + length, y - 8, y, element_text(element)))
    for a, b in itertools.combinations(boxes, 2):
        apart = a[1] <= b[0] or b[1] <= a[0] or a[3] <= b[2] or b[3] <= a[2]
        assert apart or not a[4] or not b[4], (a, b)


def element_text(element):
    """What is shown: the text without the title that holds the whole of it."""
    return (element.text or "") + "".join(child.tail or "" for child in element)


def placed_texts(root, dx=0.0, dy=0.0, anchor=None):
    for child in root:
        own = child.get("text-anchor", anchor)
        moved = re.match(r"translate\(([-\d.]+) ([-\d.]+)\)", child.get("transform", ""))
        shift = (float(moved[1]), float(moved[2])) if moved else (0.0, 0.0)
        if child.tag == f"{SVG}text":
            yield dx + float(child.get("x")), dy + float(child.get("y")), own, child
        yield from placed_texts(child, dx + shift[0], dy + shift[1], own)


def test_every_colour_class_is_in_the_style_sheet():
    used = set(re.findall(r'class="(pl[^"]*)"', "".join(GALLERY.values())))
    for name in {part for value in used for part in value.split()}:
        assert f".{name}" in CSS, name


def test_importing_needs_only_the_standard_library():
    code = (
        "import sys; import pellucid.draw;"
        "print(sorted({m.split('.')[0] for m in sys.modules} - set(sys.stdlib_module_names)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "numpy" not in done.stdout
