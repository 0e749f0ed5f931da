from bench.metrics import series

TEXT = """\
# TYPE etcd_mvcc_put_total counter
etcd_mvcc_put_total 12
etcd_mvcc_put_total_more 99
requests{verb="GET",path="/{name}"} 1.5e+01
requests{verb="PUT",path=""} 2
"""


def test_each_series_has_its_labels_and_value() -> None:
    assert list(series(TEXT, "requests")) == [
        ({"verb": "GET", "path": "/{name}"}, 15.0),
        ({"verb": "PUT", "path": ""}, 2.0),
    ]


def test_a_metric_without_labels_is_not_one_with_a_longer_name() -> None:
    assert list(series(TEXT, "etcd_mvcc_put_total")) == [({}, 12.0)]
