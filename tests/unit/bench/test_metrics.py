from bench.metrics import OperatorsRequests, operators_requests, series

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


def test_requests_of_operators_are_those_of_ordinary_serviceaccounts() -> None:
    text = """\
apiserver_flowcontrol_dispatched_requests_total{flow_schema="service-accounts",priority_level="workload-low"} 40
apiserver_flowcontrol_dispatched_requests_total{flow_schema="exempt",priority_level="exempt"} 900
apiserver_request_total{code="201",resource="events",verb="POST"} 3
apiserver_request_total{code="200",resource="events",verb="LIST"} 5
apiserver_request_total{code="201",resource="pods",verb="POST"} 7
"""  # noqa: E501
    assert operators_requests(text) == OperatorsRequests(all=40.0, events=3.0)
