"""The encoder as scikit-learn sees it."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from foretree.encode import SplitEncoder


@parametrize_with_checks(
    [SplitEncoder(), SplitEncoder(scheme="onehot"), SplitEncoder(missing="mode", max_bins=4)]
)
def test_scikit_learn_agrees_with_the_encoder(estimator, check):
    check(estimator)
