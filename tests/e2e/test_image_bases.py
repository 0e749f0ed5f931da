"""What a build says of a base image that will not do."""

from pathlib import Path

import pytest

from localcluster.images import recipe, stand_in, workload_image
from localcluster.images.archives import Archives
from localcluster.images.buildah import Buildah
from localcluster.machine.errors import BuildFailed
from localcluster.machine.progress import reporter_for, silent

pytestmark = pytest.mark.long

NO_PYTHON = f"FROM {stand_in.NAME}\nRUN rm /usr/bin/python3\n"


async def test_an_image_without_python_is_refused_with_a_message(tmp_path: Path) -> None:
    base = await workload_image(reporter_for())
    context, dockerfile = tmp_path / "context", tmp_path / "Dockerfile"
    recipe.stage("controller", context)
    dockerfile.write_text(NO_PYTHON)
    archives = Archives(tmp_path / "images")
    async with archives.work_folder(silent) as work:
        buildah = Buildah(work / "buildah", archives.log, archives.pip_cache)
        await buildah.load(base.archive)
        await buildah.build("localhost/no-python:1", dockerfile, tmp_path, arguments={})
        with pytest.raises(BuildFailed) as failed:
            await buildah.build(
                "localhost/appwrapper-controller:x",
                context / "Dockerfile.controller",
                context,
                arguments={"BASE_IMAGE": "localhost/no-python:1"},
            )
    first, _, said = str(failed.value).partition("\n\n")
    assert first == "Failed, exit code 1: build localhost/appwrapper-controller:x. It said last:"
    assert "\nerror: BASE_IMAGE has no python3\n" in said
