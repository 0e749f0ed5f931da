from tests.support.builders.admission import SERVICE, appwrapper, component, warnings_of

SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "token"},
    "stringData": {"password": "hunter2"},
}


def test_the_warning_of_a_secret_contains_none_of_its_data() -> None:
    assert warnings_of(appwrapper(component(), component(SECRET))) == [
        "spec.components[1]: every user who may read AppWrappers can read this Secret: create "
        "it outside the AppWrapper and refer to it by name"
    ]


def test_other_kinds_cause_no_warning() -> None:
    assert warnings_of(appwrapper(component(), component(SERVICE))) == []
