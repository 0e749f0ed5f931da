from bench.access_reviews import counted

METRICS = """\
# HELP apiserver_request_total Counter of apiserver requests
# TYPE apiserver_request_total counter
apiserver_request_total{code="201",resource="subjectaccessreviews",verb="POST"} 7
apiserver_request_total{code="429",resource="subjectaccessreviews",verb="POST"} 1.2e+01
apiserver_request_total{code="201",resource="selfsubjectaccessreviews",verb="POST"} 100
apiserver_request_total{code="201",resource="pods",verb="POST"} 1000
apiserver_request_terminations_total{resource="subjectaccessreviews"} 10000
"""


def test_only_access_reviews_are_counted() -> None:
    assert counted(METRICS) == 19


def test_without_reviews_there_is_no_figure() -> None:
    assert counted("") == 0
