import json

import numpy as np
import pandas as pd
import pytest

import hjastats as hja
from hjastats.errors import ComparisonError
from hjastats.export import checksum


def fits(data):
    covariate = pd.DataFrame({"length": np.linspace(-1, 1, data.n_rows)})
    ties = hja.Comparisons.from_arrays(
        np.asarray(data.judges)[data.judge_index],
        np.asarray(data.items)[data.first_index],
        np.asarray(data.items)[data.second_index],
        np.where(np.arange(data.n_rows) % 7 == 0, 0.5, data.outcome),
        columns=pd.DataFrame(
            {"prompt": [f"p{i % 97}" for i in range(data.n_rows)], "size": np.arange(data.n_rows) / 3}
        ),
    )
    yield hja.HJAModel.from_comparisons(data, rank=1, position="judge").fit()
    yield hja.BTLModel.from_comparisons(data, covariate).fit(cov_type="HC0")
    yield hja.JAModel.from_comparisons(ties, judge_exog=covariate, ties="davidson", tie="judge").fit()
    clusters = np.arange(data.n_rows) % 150
    yield hja.JAModel.from_comparisons(ties, ties="drop").fit(cov_type="cluster", cov_kwds={"groups": "prompt"})
    yield hja.JudgewiseBTLModel.from_comparisons(data).fit(cov_type="cluster", cov_kwds={"groups": clusters})
    yield hja.HJAModel.from_comparisons(data, rank=2).fit_regularized(alpha="cv", terms=True)
    yield hja.JAModel.from_comparisons(data).fit_regularized(penalty="firth")


def test_a_result_read_again_says_the_same(panel, tmp_path):
    for i, result in enumerate(fits(panel)):
        path = tmp_path / f"{i}.json"
        result.to_json(path)
        again = hja.load_results(path)
        assert type(again.model) is type(result.model)
        np.testing.assert_allclose(again.params, result.params, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(again.bse, result.bse, rtol=1e-9)
        assert (again.converged, again.cov_type, again.df_model) == (
            result.converged,
            result.cov_type,
            pytest.approx(result.df_model),
        )
        before, after = str(result.summary()).splitlines(), str(again.summary()).splitlines()
        assert [line for line in after if "Time:" not in line] == [line for line in before if "Time:" not in line]
        assert again.mle_retvals["optima"] == result.mle_retvals["optima"]
        pd.testing.assert_frame_equal(
            again.model.comparisons.columns,
            result.model.comparisons.columns,
            check_dtype=False,
            check_column_type=False,
        )


def test_a_separated_result_stays_separated(panel):
    frame = panel.to_frame()
    item = panel.items[0]
    outcome = np.where(frame["first"] == item, 1.0, np.where(frame["second"] == item, 0.0, frame["outcome"]))
    model = hja.JAModel(outcome, judge=frame["judge"], item_a=frame["first"], item_b=frame["second"])
    again = hja.load_results(model.fit(warn_convergence=False).to_json())
    assert not again.converged
    assert np.isnan(again.consensus.loc[item, "estimate"])


def tampered(text, change):
    """A document changed by someone who knows how the checksum is made."""
    document = json.loads(text)
    change(document)
    return json.dumps(document | {"checksum": checksum(document)})


def test_changed_files_are_refused_and_nothing_is_executed(panel, tmp_path):
    text = hja.JAModel.from_comparisons(panel).fit().to_json()
    plain = json.loads(text)
    plain["data"]["outcome"][0] = 1.0 - plain["data"]["outcome"][0]
    with pytest.raises(ComparisonError, match="checksum"):
        hja.load_results(json.dumps(plain))
    witness = tmp_path / "executed"
    code = f"__import__('pathlib').Path({str(witness)!r}).touch()"
    attacks = {
        "log-likelihood": lambda d: d["data"]["outcome"].__setitem__(0, 1.0 - d["data"]["outcome"][0]),
        "shape": lambda d: d["estimate"]["scores"].pop(),
        "called": lambda d: d["model"].__setitem__("class", "os.system"),
        "codes": lambda d: d["data"]["first"].__setitem__(0, 10**6),
        "not a complete": lambda d: d["fit"].pop("optima"),
        "version": lambda d: d.__setitem__("version", 99),
        "schema": lambda d: d.__setitem__("schema", code),
        "position": lambda d: d["model"].__setitem__("position", code),
    }
    for message, change in attacks.items():
        with pytest.raises(ComparisonError, match=message):
            hja.load_results(tampered(text, change))
    for nonsense in ("{", '{"schema": NaN}', "[" * 100_000, json.dumps({"schema": "hjastats-results", "version": 3})):
        with pytest.raises((ComparisonError, OSError)):
            hja.load_results(nonsense)
    # A formula in a column or a label is only text.
    labelled = json.loads(text)
    labelled["data"]["columns"].append({"name": code, "values": [code] * len(labelled["data"]["outcome"])})
    hja.load_results(json.dumps(labelled | {"checksum": checksum(labelled)})).summary()
    assert not witness.exists()


def test_results_without_data_cannot_be_written(panel):
    result = hja.BTLModel.from_comparisons(panel).fit()
    result.remove_data()
    with pytest.raises(Exception, match="data"):
        result.to_json()


def test_a_missing_folder_is_named(panel, tmp_path):
    result = hja.JAModel.from_comparisons(panel).fit()
    for write in (result.to_json, result.report):
        with pytest.raises(FileNotFoundError, match=r"the folder .*nowhere' does not exist"):
            write(tmp_path / "nowhere" / "file")


def test_a_ridge_of_an_earlier_version_is_not_taken_for_one_of_now(panel):
    document = json.loads(hja.BTLModel.from_comparisons(panel).fit_regularized().to_json())
    document["version"] = 2
    document["checksum"] = checksum(document)
    with pytest.raises(ComparisonError, match=r"version 2 of the format.*before 3 a ridge meant another penalty"):
        hja.load_results(json.dumps(document))


@pytest.mark.parametrize("prompts", [["a", None, "b"], [1.0, np.nan, 2.0]])
def test_missing_values_of_further_columns_are_kept(prompts, tmp_path):
    columns = pd.DataFrame({"prompt": prompts * 20})
    data = hja.Comparisons.from_arrays(
        "j", list("aab") * 20, list("bcc") * 20, [1, 0, 1] * 10 + [0, 1, 0] * 10, columns=columns
    )
    hja.BTLModel.from_comparisons(data).fit().to_json(tmp_path / "fit.json")
    kept = hja.load_results(tmp_path / "fit.json").model.comparisons.columns["prompt"]
    assert kept.isna().tolist() == columns["prompt"].isna().tolist()
    assert kept.dropna().tolist() == columns["prompt"].dropna().tolist()
