"""The encoder as scikit-learn sees it."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from foretree.encode import SplitEncoder


@parametrize_with_checks(
    [SplitEncoder(), SplitEncoder(scheme="onehot"), SplitEncoder(missing="mode", max_bins=4)]
)
def test_scikit_learn_agrees_with_the_encoder(estimator, check):
    check(estimator)


@pytest.fixture
def people():
    return pd.DataFrame({"age": [20, 30, 40, None], "job": ["clerk", "cook", None, "smith"]})


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_set_output_names_the_columns_by_their_questions(people, container):
    encoder = SplitEncoder().set_output(transform=container)
    table = encoder.fit_transform(people)
    asked = [str(split) for split in encoder.splits_]
    assert list(table.columns) == asked == encoder.get_feature_names_out().tolist()
    assert list(table["job = cook"]) == [0, 1, 0, 0]
    assert list(encoder.transform(people)["age is missing"]) == [0, 0, 0, 1]


def test_it_works_before_a_tree_and_beside_other_transformers(people):
    pipeline = make_pipeline(SplitEncoder(), DecisionTreeClassifier(random_state=0))
    assert pipeline.fit(people, [0, 1, 0, 1]).score(people, [0, 1, 0, 1]) == 1.0
    beside = ColumnTransformer(
        [("asked", SplitEncoder(), ["job"]), ("as is", FunctionTransformer(), ["age"])]
    )
    assert beside.fit_transform(people).shape == (4, 5)
    assert beside.named_transformers_["asked"].feature_names_in_.tolist() == ["job"]


def test_questions_about_unnamed_columns_can_be_renamed(people):
    encoder = SplitEncoder().fit([[1.0, 2.0], [2.0, 5.0]])
    assert list(encoder.get_feature_names_out(["a", "b"])) == ["a <= 1.5", "b <= 3.5"]
    assert not hasattr(encoder, "feature_names_in_")
    with pytest.raises(ValueError, match="length equal to number of features"):
        encoder.get_feature_names_out(["a"])
    assert encoder.fit(people).feature_names_in_.tolist() == ["age", "job"]
    with pytest.raises(ValueError, match="input_features is not equal to feature_names_in_"):
        encoder.get_feature_names_out(["job", "age"])
    assert not hasattr(encoder.fit(np.eye(2)), "feature_names_in_")
