"""Tables in every engine give the comparisons of the same table in pandas."""

import ast
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hjastats as hja
from hjastats.data import engines, files
from hjastats.data.readers import read_comparisons
from hjastats.errors import ComparisonError

# Counts are exact in every engine; only the order of sums may differ.
SAME_FIT = 1e-8
SAME_COVARIANCE = 1e-10
IN_PROCESS = ["polars", "polars lazy", "pyarrow", "pyarrow chunks", "duckdb", "dask", "dask chunks"]
PACKAGES = {
    "polars": "polars",
    "pyarrow": "pyarrow",
    "duckdb": "duckdb",
    "dask": "dask.dataframe",
    "pyspark": "pyspark",
}
SPARK_OPTIONS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
}
ROLES = ["judge", "model_a", "model_b", "winner"]


def verdicts(n_prompts=60):
    """The simulated panel as a user's table, with ties, missing and unusable verdicts, prompts and a covariate."""
    rng = np.random.default_rng(3)
    panel = hja.datasets.load_panel().to_frame()
    words = panel["outcome"].map({1.0: "model_a", 0.0: "model_b"}).to_numpy(dtype=object)
    chance = rng.random(len(panel))
    words[chance < 0.1] = " Tie "
    words[chance < 0.02] = "unknown"
    words[chance < 0.01] = None
    return pd.DataFrame(
        {
            "judge": panel["judge"].to_numpy(),
            "model_a": panel["first"].to_numpy(),
            "model_b": panel["second"].to_numpy(),
            "winner": words,
            "question_id": rng.integers(n_prompts, size=len(panel)),
            "longer": rng.integers(-1, 2, size=len(panel)),
            "prompt": [f"prompt number {k}" for k in range(len(panel))],
        }
    )


def table(**columns):
    """Two rows of a valid table with some columns replaced (None removes one)."""
    plain = {"judge": ["j", "j"], "left": ["gpt", "gpt"], "right": ["llama", "claude"], "winner": ["left", "right"]}
    return {name: values for name, values in (plain | columns).items() if values is not None}


@pytest.fixture(scope="module")
def spark():
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    # Workers would otherwise be whatever python3 is on the path.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = sql.SparkSession.builder.master("local[1]").config(map=SPARK_OPTIONS)
    with warnings.catch_warnings():
        # PySpark warns of versions of pandas it was not tested with.
        warnings.simplefilter("ignore")
        try:
            session = builder.getOrCreate()
        except Exception as error:
            pytest.skip(f"no Spark session could be started (is Java installed?): {str(error)[:100]}")
    yield session
    session.stop()


@pytest.fixture(params=IN_PROCESS)
def load(request):
    """A function that loads columns into the engine."""
    engine, _, variant = request.param.partition(" ")
    module = pytest.importorskip(PACKAGES[engine], reason=f"{engine} is not installed")
    if engine == "polars":
        return lambda columns: (
            module.DataFrame(_plain(columns)).lazy() if variant else module.DataFrame(_plain(columns))
        )
    if engine == "pyarrow":
        return lambda columns: _arrow_table(module, columns, 3 if variant else 1)
    if engine == "duckdb":
        arrow = pytest.importorskip("pyarrow", reason="the test hands its table to duckdb through pyarrow")
        return lambda columns: module.from_arrow(_arrow_table(arrow, columns, 1))
    return lambda columns: module.from_pandas(pd.DataFrame(columns), npartitions=5 if variant else 1, sort=False)


def _plain(columns):
    """Lists of Python values with None for what is missing: what an engine other than pandas would hold."""
    frame = pd.DataFrame(columns).astype(object)
    return {name: frame[name].where(frame[name].notna(), None).tolist() for name in frame}


def _arrow_table(pyarrow, columns, n_chunks):
    whole = pyarrow.table(_plain(columns))
    step = -(-len(whole) // n_chunks)
    return pyarrow.concat_tables([whole.slice(start, step) for start in range(0, len(whole), step)])


def _spark_frame(session, columns):
    plain = _plain(columns)
    kinds = {bool: "boolean", int: "bigint", float: "double", str: "string", list: "array<string>"}
    known = {name: next(type(value) for value in values if value is not None) for name, values in plain.items()}
    schema = ", ".join(f"`{name}` {kinds[kind]}" for name, kind in known.items())
    return session.createDataFrame(list(zip(*plain.values(), strict=True)), schema)


def assert_same_cells(one, other):
    assert one.judges == other.judges
    assert one.items == other.items
    for name in ("judge", "first", "second", "n", "y"):
        np.testing.assert_array_equal(getattr(one.ordered_cells, name), getattr(other.ordered_cells, name))
    pd.testing.assert_frame_equal(one.dropped, other.dropped, check_dtype=False)


def distinct(data):
    """The rows of comparisons as a set with their total weights, whatever their order."""
    frame = data.to_frame()
    names = [name for name in frame if name != "weight"]
    return frame.groupby(names, dropna=False)["weight"].sum().reset_index()


# The same comparisons


def test_cells_dropped_verdicts_and_fits_are_those_of_pandas(load):
    frame = verdicts()
    expected, data = read_comparisons(frame), read_comparisons(load(frame[ROLES]))
    assert_same_cells(data, expected)
    assert data.n_comparisons == expected.n_comparisons
    assert data.n_rows < expected.n_rows
    here, there = (hja.HJAModel.from_comparisons(x, rank=1, position="judge").fit() for x in (data, expected))
    assert here.llf == pytest.approx(there.llf, abs=SAME_FIT)
    np.testing.assert_allclose(here.params, there.params, atol=SAME_FIT)
    np.testing.assert_allclose(here.bse, there.bse, atol=SAME_FIT)


def test_robust_covariances_of_counted_rows_are_those_of_single_rows(load):
    frame = verdicts()
    expected, data = read_comparisons(frame), read_comparisons(load(frame), keep=["question_id"])
    assert data.columns.columns.tolist() == ["question_id"]
    fits = [hja.JAModel.from_comparisons(x, position="common").fit() for x in (data, expected)]
    for cov_type, options in (("HC0", {}), ("cluster", {"groups": "question_id"})):
        here, there = (fit.with_covariance(cov_type, options).cov_params() for fit in fits)
        np.testing.assert_allclose(here, there, atol=SAME_COVARIANCE)


@pytest.mark.parametrize("load", ["polars", "duckdb"], indirect=True)
def test_bootstraps_of_counted_rows_are_those_of_single_rows(load):
    frame = verdicts()
    expected, data = read_comparisons(frame), read_comparisons(load(frame), keep=["question_id"])
    fits = [hja.JAModel.from_comparisons(x).fit() for x in (data, expected)]
    for kind in ("parametric", "rows"):
        here, there = (fit.bootstrap(4, kind, rng=2).params for fit in fits)
        np.testing.assert_allclose(here, there, atol=SAME_FIT)


def test_covariates_are_kept_with_the_counts(load):
    frame = verdicts()
    expected, data = read_comparisons(frame), read_comparisons(load(frame), keep="longer")
    here, there = (hja.BTLModel.from_comparisons(x, ["longer"]).fit() for x in (data, expected))
    np.testing.assert_allclose(here.params, there.params, atol=SAME_FIT)
    np.testing.assert_allclose(here.bse, there.bse, atol=SAME_FIT)


def test_rows_come_in_the_same_order_from_every_engine(load):
    frame = verdicts()
    shuffled = frame.sample(frac=1, random_state=1)
    one, other = (read_comparisons(load(x), keep=["question_id"]) for x in (frame, shuffled))
    pd.testing.assert_frame_equal(one.to_frame(), other.to_frame())
    order = [*zip(*(one.to_frame()[name] for name in ("judge", "first", "second")), strict=True)]
    assert order == sorted(order)


LABELS = [
    ({}, {}),
    ({"judge": [7, 12]}, {}),
    ({"judge": [2**60 + 1, 2**60]}, {}),
    ({"judge": None}, {"single_judge": "me"}),
    ({"left": ["Ärger ✓", "z\u0308"], "right": ["日本", "日本"]}, {}),
    ({"left": [1, 2], "right": [3, 1]}, {}),
    ({"winner": ["gpt", "claude"]}, {}),
    ({"winner": ["left", None]}, {}),
    ({"winner": ["tie (bothbad)", "right"]}, {"both_bad": "drop"}),
    ({"winner": [1, 2]}, {"codes": {1: "first", 2: "second"}}),
    ({"winner": [1, None]}, {"codes": "unit"}),
    ({"winner": [0.25, 1.0]}, {"codes": "unit"}),
    ({"winner": [True, False]}, {"codes": "unit"}),
    ({"winner": [True, None]}, {"codes": {True: "second"}}),
    ({"winner": ["1.5", "0"]}, {"codes": "alpacaeval"}),
    ({"winner": None, "left": None, "right": None, "winner_": None, "loser": ["a", "b"], "Winner": ["b", "c"]}, {}),
    ({"weight": [2, 3]}, {}),
    ({"weight": [0.25, 1e-3], "winner": ["error", "left"]}, {}),
    ({"weight": ["2", "3.5"]}, {}),
    ({"weight": [True, True]}, {}),
    ({"weight": [2.5, 1.0]}, {"keep": ["weight", "judge"]}),
    ({"n_rows": [5, 6], "odd_weight": ["x", None]}, {"keep": ["n_rows", "odd_weight"]}),
    ({"count": [5, 6]}, {"weight": "COUNT", "judge": "Judge"}),
]
LABELS_BY_ENGINE = [(engine, *case) for engine in IN_PROCESS for case in LABELS]


@pytest.mark.parametrize(("load", "columns", "options"), LABELS_BY_ENGINE, indirect=["load"])
def test_labels_of_every_kind_are_read_as_from_pandas(load, columns, options):
    columns = table(**columns)
    expected = read_comparisons(pd.DataFrame(columns), **({"keep": []} | options))
    data = read_comparisons(load(columns), **options)
    assert data.columns.columns.tolist() == expected.columns.columns.tolist()
    pd.testing.assert_frame_equal(distinct(data), distinct(expected), check_dtype=False)
    pd.testing.assert_frame_equal(data.dropped, expected.dropped, check_dtype=False)


ERRORS = [
    ({"judge": ["j", None]}, {}, ", first at row 2, counted from 1"),
    ({"right": [None, "claude"]}, {}, ", first at row 1, counted from 1"),
    ({"left": ["gpt", " "]}, {}, ""),
    ({"right": ["llama", "gpt"]}, {}, ", first at row 2, counted from 1"),
    ({"winner": ["left", "rigth"]}, {}, ""),
    ({"winner": [1, 2]}, {}, ""),
    ({"winner": [True, False]}, {}, ""),
    ({"winner": [0.5, 7.0]}, {"codes": "unit"}, ""),
    ({"winner": ["left", "both bad"]}, {"both_bad": "error"}, ""),
    ({"winner": ["error", None]}, {}, ""),
    (
        {"left": ["a", "a"], "right": ["b", "tie"], "winner": ["a", "tie"]},
        {},
        "at row 2, counted from 1, ",
    ),
    ({"weight": [0, 0]}, {}, ""),
    ({"winner": [0.25, 1.0], "weight": [2, 1]}, {"codes": "unit"}, ", first at row 1, counted from 1"),
    ({"weight": [1.0, -2.5]}, {}, " at row 2, counted from 1"),
    ({"weight": [1.0, float("inf")]}, {}, " at row 2, counted from 1"),
    ({"weight": [1.0, None]}, {}, " at row 2, counted from 1"),
    ({"weight": ["many", "1"]}, {}, ""),
    ({"judge": None}, {}, ""),
    ({"user_id": [1, 2]}, {}, ""),
    ({}, {"judge": "juge"}, ""),
    ({}, {"keep": ["zzz"]}, ""),
]
ERRORS_BY_ENGINE = [(engine, *case) for engine in IN_PROCESS for case in ERRORS]


@pytest.mark.parametrize(("load", "columns", "options", "place"), ERRORS_BY_ENGINE, indirect=["load"])
def test_errors_are_those_of_pandas_without_the_place(load, columns, options, place):
    # Three copies of the second row, so that messages must count the rows of the table and not the distinct ones.
    repeated = {name: [*values, values[1], values[1]] for name, values in table(**columns).items()}
    with pytest.raises(ComparisonError) as expected:
        read_comparisons(pd.DataFrame(repeated), **options)
    with pytest.raises(ComparisonError) as found:
        read_comparisons(load(repeated), **options)
    assert str(found.value) == str(expected.value).replace(place, "", 1)


@pytest.mark.parametrize("load", ["polars", "polars lazy", "duckdb"], indirect=True)
def test_lists_that_name_a_judge_are_joined(load):
    assert read_comparisons(load(table(judge=[["gpt-4", "v2"], ["author"]]))).judges == ("author", "gpt-4/v2")


def test_lists_in_a_pyarrow_table_are_refused():
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    with pytest.raises(ComparisonError, match=r"the column 'judge' holds lists .* make it text first"):
        read_comparisons(pyarrow.table(table(judge=[["gpt-4", "v2"], ["author"]])))


def test_a_table_without_rows_is_refused():
    polars = pytest.importorskip("polars", reason="polars is not installed")
    empty = polars.DataFrame(table()).clear()
    for source in (empty, empty.lazy(), empty.to_arrow()):
        with pytest.raises(ComparisonError, match="the table is empty: expected one row per verdict"):
            read_comparisons(source)


def test_categories_and_enumerations_are_labels():
    polars = pytest.importorskip("polars", reason="polars is not installed")
    frame = verdicts()[ROLES]
    expected = read_comparisons(frame)
    text = polars.DataFrame(_plain(frame))
    names = polars.Enum(sorted({*frame["model_a"], *frame["model_b"]}))
    categories = text.with_columns(polars.all().cast(polars.Categorical))
    enumerations = text.with_columns(polars.col("model_a", "model_b").cast(names))
    for source in (categories, enumerations, categories.lazy(), enumerations.to_arrow(), categories.to_arrow()):
        assert_same_cells(read_comparisons(source), expected)


# Where the work is done


def test_a_lazy_polars_frame_collects_distinct_rows_only(monkeypatch):
    polars = pytest.importorskip("polars", reason="polars is not installed")
    collected = []
    collect = polars.LazyFrame.collect

    def watched(self, **options):
        result = collect(self, **options)
        collected.append((result.shape, self.explain()))
        return result

    monkeypatch.setattr(polars.LazyFrame, "collect", watched)
    source = polars.LazyFrame(_plain(verdicts()))
    data = read_comparisons(source)
    [(shape, plan)] = collected
    assert shape[0] == len(verdicts().groupby(ROLES, dropna=False))
    assert data.n_rows <= shape[0] < len(verdicts())
    assert "AGGREGATE" in plan
    # The prompts are never touched: four of the seven columns are.
    assert "4/7" in plan


def test_spark_gives_what_pandas_gives(spark):
    """One test, so that one worker starts one Java machine; a query takes half a second, so it gets a part of the cases."""

    def load(columns):
        return _spark_frame(spark, columns)

    test_cells_dropped_verdicts_and_fits_are_those_of_pandas(load)
    test_robust_covariances_of_counted_rows_are_those_of_single_rows(load)
    test_covariates_are_kept_with_the_counts(load)
    test_rows_come_in_the_same_order_from_every_engine(load)
    test_lists_that_name_a_judge_are_joined(load)
    for columns, options in LABELS[4::5]:
        test_labels_of_every_kind_are_read_as_from_pandas(load, columns, options)
    for columns, options, place in ERRORS[::4]:
        test_errors_are_those_of_pandas_without_the_place(load, columns, options, place)
    counted = engines.engine_frame(load(verdicts())).select(ROLES).group_by(ROLES).agg(engines.nw.len().alias("n"))
    assert "HashAggregate" in counted.to_native()._jdf.queryExecution().toString()


# Parquet


@pytest.fixture
def parts(tmp_path):
    """A folder of parquet parts, as Spark and Dask write them."""
    polars = pytest.importorskip("polars", reason="polars is not installed")
    whole = polars.DataFrame(_plain(verdicts()))
    folder = tmp_path / "verdicts.parquet"
    folder.mkdir()
    (folder / "_SUCCESS").write_bytes(b"")
    for k, start in enumerate(range(0, len(whole), 1000)):
        whole[start : start + 1000].write_parquet(folder / f"part-{k}.parquet")
    whole.write_parquet(tmp_path / "all.pq")
    return folder


@pytest.mark.parametrize("engine", ["polars", "duckdb", "pyarrow"])
def test_parquet_files_folders_and_globs_are_read_by_any_engine(parts, monkeypatch, engine):
    pytest.importorskip(engine, reason=f"{engine} is not installed")
    monkeypatch.setattr(files, "find_spec", lambda name: True if name == engine else None)
    expected = read_comparisons(verdicts())
    for path in (parts, str(parts), f"{parts}/", str(parts / "part-*.parquet"), parts.parent / "all.pq"):
        assert_same_cells(read_comparisons(path), expected)
    kept = read_comparisons(parts, keep=["question_id"])
    assert sorted(kept.columns["question_id"].unique()) == sorted(verdicts()["question_id"].unique())


def test_parquet_without_the_ending_is_known_by_its_content(parts):
    hidden = (parts.parent / "all.pq").rename(parts.parent / "all.data")
    assert_same_cells(read_comparisons(hidden), read_comparisons(verdicts()))
    assert_same_cells(read_comparisons(hidden, format="parquet"), read_comparisons(verdicts()))


def test_parquet_that_cannot_be_read_is_named_with_the_reason(tmp_path, monkeypatch):
    pytest.importorskip("polars", reason="polars is not installed")
    with pytest.raises(ComparisonError, match=r"no file matches '.*none.*\.parquet'"):
        read_comparisons(tmp_path / "none-*.parquet")
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1 not at all")
    with pytest.raises(ComparisonError, match=r"broken\.parquet' cannot be read as parquet: ") as caught:
        read_comparisons(broken)
    assert caught.value.__suppress_context__
    with broken.open("rb") as file, pytest.raises(ComparisonError, match="'the open file' cannot be read"):
        read_comparisons(file, format="parquet")
    monkeypatch.setattr(files, "find_spec", lambda name: None)
    with pytest.raises(ComparisonError, match="one of polars, duckdb, pyarrow, and none is installed"):
        read_comparisons(broken)


# Engines stay optional


def test_no_module_imports_an_engine():
    package = Path(hja.__file__).parent
    for path in package.rglob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
        names += [str(node.module) for node in nodes if isinstance(node, ast.ImportFrom) and not node.level]
        assert not {name.partition(".")[0] for name in names} & set(PACKAGES), path


def test_everything_works_without_any_engine():
    script = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(name, *where):\n"
        # Not None in sys.modules, which compiled code of pandas 3.0 takes for a module.
        f"        if name.split('.')[0] in {sorted(PACKAGES)!r}: raise ModuleNotFoundError(name, name=name)\n"
        "sys.meta_path.insert(0, Absent)\n"
        "import hjastats as hja\n"
        "print(hja.read_comparisons({'judge': ['j'], 'left': ['a'], 'right': ['b'], 'winner': ['a']}).outcome)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout == "[1.]\n", done.stderr
