import numpy as np
import pytest

import hjastats as hja


@pytest.fixture
def verdicts(tmp_path):
    path = tmp_path / "verdicts.csv"
    frame = hja.datasets.load_panel().to_frame()
    frame["winner"] = np.where(frame["outcome"] == 1, "a", "b")
    frame.rename(columns={"first": "model_a", "second": "model_b"})[["judge", "model_a", "model_b", "winner"]].to_csv(
        path, index=False
    )
    return str(path)
