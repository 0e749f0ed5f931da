from tests.support.builders.admission import SERVICE, appwrapper, component, warnings_of

SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "token"},
    "stringData": {"password": "hunter2"},
}


def test_a_secret_is_warned_of_without_a_word_of_what_is_in_it() -> None:
    assert warnings_of(appwrapper(component(), component(SECRET))) == [
        "spec.components[1]: every user who may read AppWrappers can read this Secret: create "
        "it outside the AppWrapper and refer to it by name"
    ]


def test_what_is_no_secret() -> None:
    assert warnings_of(appwrapper(component(), component(SERVICE))) == []
