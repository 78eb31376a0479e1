"""Every setting of the project, read from the environment in this one file.

``docs/settings.md`` lists each variable; a test compares that table with what is read here.
"""

import os
import re
import secrets
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import environ
import structlog
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured
from whitenoise.compress import Compressor

T = TypeVar("T")

BASE_DIR = Path(__file__).resolve().parent.parent
VAR_DIR = BASE_DIR / "var"

_env = environ.Env()
VARIABLES: dict[str, str | None] = {}
"""Each variable that was read, with its default as one would write it (None: unset)."""

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def parse_duration(text: str) -> timedelta:
    """Turn ``24h``, ``15m``, ``1s`` or ``30d`` into a length of time.

    Raises: ValueError for anything else, zero included.
    """
    match = re.fullmatch(r"([1-9][0-9]{0,5})([smhd])", text)
    if match is None:
        raise ValueError(f"{text!r} is not a duration like 24h, 15m or 1s")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


def parse_count(text: str) -> int:
    """Turn a whole number of at least 1 into itself.

    Raises: ValueError for anything else.
    """
    if re.fullmatch(r"[1-9][0-9]{0,8}", text) is None:
        raise ValueError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def parse_rate(text: str) -> tuple[int, timedelta]:
    """Turn ``600/1m`` into a number of requests and the time in which they are allowed.

    Raises: ValueError for anything else.
    """
    count, slash, duration = text.partition("/")
    if not slash:
        raise ValueError(f"{text!r} is not a rate like 600/1m")
    return parse_count(count), parse_duration(duration)


def parse_flag(text: str) -> bool:
    """Turn ``true`` or ``false`` into a flag.

    Raises: ValueError for anything else, so that a mistyped ``DEBUG=flase`` does not start.
    """
    if text.lower() in {"1", "true", "yes", "on"}:
        return True
    if text.lower() in {"0", "false", "no", "off"}:
        return False
    raise ValueError(f"{text!r} is neither true nor false")


def parse_site(text: str) -> str:
    """Turn ``https://cortex.example.com`` into itself, without a slash at its end.

    Raises: ValueError for anything else.
    """
    if re.fullmatch(r"https?://[A-Za-z0-9.:\[\]_-]+/?", text) is None:
        raise ValueError(f"{text!r} is not an address like https://cortex.example.com")
    return text.rstrip("/")


def parse_list(text: str) -> list[str]:
    """Split a text at its commas, leaving out what is empty."""
    return [part.strip() for part in text.split(",") if part.strip()]


def parse_choice(*choices: str) -> Callable[[str], str]:
    """Make a parser that takes one of the given words and refuses every other."""

    def parse(text: str) -> str:
        if text not in choices:
            raise ValueError(f"{text!r} is none of {', '.join(choices)}")
        return text

    return parse


def read(name: str, parse: Callable[[str], T], default: str) -> T:
    """Read a variable, or its default where it is unset or empty.

    Raises: ImproperlyConfigured, naming the variable, where the text does not parse.
    """
    VARIABLES[name] = default
    try:
        return parse(_env.str(name, "") or default)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}: {error}") from error


def read_optional(name: str, parse: Callable[[str], T]) -> T | None:
    """Read a variable that may stay unset; None then."""
    text = _env.str(name, "")
    value = read(name, parse, text) if text else None
    VARIABLES[name] = None
    return value


# --- Where it runs -------------------------------------------------------------------------

DEBUG = read("DEBUG", parse_flag, "false")
ALLOWED_HOSTS = read("ALLOWED_HOSTS", parse_list, "localhost,127.0.0.1,[::1]")
CSRF_TRUSTED_ORIGINS = read("CSRF_TRUSTED_ORIGINS", parse_list, "")
HTTPS = read("HTTPS", parse_flag, "false")
PORT = read_optional("PORT", parse_count)
WEB_WORKERS = read("WEB_WORKERS", parse_count, "1")
WEB_THREADS = read("WEB_THREADS", parse_count, "16")
MAX_LONG_POLLS = read("MAX_LONG_POLLS", parse_count, "64")

# --- Database ------------------------------------------------------------------------------

# FULL, not NORMAL: a receipt that was answered must outlive a power cut.
_SQLITE_START = "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;"
# A stalled process must not hold a run's row for ever, nor make the others wait for it for ever.
# Compiling a statement takes longer than any of ours runs.
_POSTGRESQL_START = "-c lock_timeout=10s -c idle_in_transaction_session_timeout=60s -c jit=off"


def _sqlite(database: dict[str, Any]) -> dict[str, Any]:
    if database["NAME"] == ":memory:":
        raise ValueError("SQLite must be a file: web server and sweeper share it")
    # A relative path is meant from the project, wherever the command was called.
    file = BASE_DIR / database["NAME"]
    file.parent.mkdir(parents=True, exist_ok=True)
    return database | {
        "NAME": str(file),
        # Opening a file and setting it up again for each request costs more than the request.
        "CONN_MAX_AGE": 600,
        "OPTIONS": {
            # DEFERRED turns a read lock into a write lock in mid-transaction, which SQLite
            # refuses with "database is locked" at once, whatever the busy timeout says.
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": _SQLITE_START,
        },
    }


def _word(value: Any) -> Any:
    """Take the words of a URL's query for what they mean; django-environ knows numbers only."""
    words = {"true": True, "false": False, "none": None}
    return words.get(value.lower(), value) if isinstance(value, str) else value


def _postgresql(database: dict[str, Any]) -> dict[str, Any]:
    pool = {"min_size": 1, "max_size": read("DATABASE_POOL_SIZE", parse_count, "20"), "timeout": 10}
    return database | {
        # The pool keeps connections open by itself; Django refuses to run with both.
        "CONN_MAX_AGE": 0,
        # Without a look before it is lent, each connection that a restart of the database cut
        # costs some request a 503.
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {
            "application_name": "cortex-admin",
            "options": _POSTGRESQL_START,
            "pool": pool,
            # Parameters bound by the server let it prepare the hot statements once.
            "server_side_binding": True,
            "prepare_threshold": 3,
        }
        # What stands in the address goes first: ?sslmode=require, or ?options=none for a proxy.
        | {name: _word(value) for name, value in database.get("OPTIONS", {}).items()},
    }


def parse_database(url: str) -> dict[str, Any]:
    """Turn a database URL into Django's settings, with what the store needs of either engine.

    Raises: ValueError for an engine other than SQLite and PostgreSQL.
    """
    engines = {"sqlite": _sqlite, "postgres": _postgresql, "postgresql": _postgresql}
    scheme = url.partition("://")[0]
    if scheme not in engines:
        raise ValueError("only sqlite:// and postgres:// addresses are known")
    return engines[scheme](dict(environ.Env.db_url_config(url)))


_EMBEDDED_DATABASE = "sqlite:///var/cortex.sqlite3"
_is_embedded = not os.environ.get("DATABASE_URL")
DATABASES = {
    "default": read("DATABASE_URL", parse_database, _EMBEDDED_DATABASE),
}
VARIABLES.setdefault("DATABASE_POOL_SIZE", "20")


def _generated_secret_key() -> str:
    """Give the key that lies in ``var/``, made at the first start.

    Raises: ImproperlyConfigured outside the embedded default: hosts that share a database must
    share a key as well.
    """
    if not _is_embedded:
        raise ImproperlyConfigured(
            "SECRET_KEY: must be set, since DATABASE_URL is; only the embedded default makes one"
        )
    path = VAR_DIR / "secret-key"
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        # "x" and 0600: two processes that start together must not sign with different keys.
        with open(path, "x", opener=_private) as file:
            file.write(secrets.token_urlsafe(50))
    except FileExistsError:
        pass
    return path.read_text()


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


_given_secret_key = read_optional("SECRET_KEY", str)
SECRET_KEY_IS_GENERATED = _given_secret_key is None
SECRET_KEY = _given_secret_key or _generated_secret_key()

# --- The store's rules ---------------------------------------------------------------------

CLOSURE_AUTHORIZER = read("CLOSURE_AUTHORIZER", str, "suspensions.closing.proof.ProofAuthorizer")
CHECKPOINT_KEY = read_optional("CHECKPOINT_KEY", str)
CLOSURE_FENCE = read("CLOSURE_FENCE", str, "suspensions.closing.proof.LockingFence")
DEFAULT_DEADLINE = read_optional("DEFAULT_DEADLINE", parse_duration)
MAX_DEADLINE = read_optional("MAX_DEADLINE", parse_duration)
RESUME_START_GRACE = read("RESUME_START_GRACE", parse_duration, "15m")
RESUME_START_MAX = read_optional("RESUME_START_MAX", parse_duration)
UNCERTAIN_AFTER = read("UNCERTAIN_AFTER", parse_duration, "60s")
RATE_LIMIT = read_optional("RATE_LIMIT", parse_rate)

# --- Webhooks ------------------------------------------------------------------------------

PUBLIC_URL = read_optional("PUBLIC_URL", parse_site)
WEBHOOK_ALLOW_PRIVATE = read("WEBHOOK_ALLOW_PRIVATE", parse_flag, "false")

# --- Apps and middleware -------------------------------------------------------------------

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django_htmx",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "axes",
    "csp",
    "suspensions",
]

MIDDLEWARE = [
    "cortex_admin.logs.RequestContextMiddleware",
    "cortex_admin.health.HealthMiddleware",
    "cortex_admin.metrics.MetricsMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "cortex_admin.urls"
WSGI_APPLICATION = "cortex_admin.wsgi.application"
ASGI_APPLICATION = "cortex_admin.asgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
APPEND_SLASH = False

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

# --- Time and language ---------------------------------------------------------------------

LANGUAGE_CODE = "en-us"
USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"

# --- People: sign-in, sessions, throttling -------------------------------------------------

AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "/sign-in/"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/sign-in/"

AXES_FAILURE_LIMIT = read("SIGN_IN_FAILURES", parse_count, "8")
AXES_COOLOFF_TIME = read("SIGN_IN_COOLOFF", parse_duration, "15m")
# By name and address together: a stranger must not lock a person out from everywhere.
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_ON_SUCCESS = True
AXES_VERBOSE = False
AXES_LOCKOUT_CALLABLE = "suspensions.pages.views.account.locked_out"

SESSION_ENGINE = "django.contrib.sessions.backends.db"
SESSION_COOKIE_NAME = "cortex_session"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = HTTPS
SESSION_COOKIE_AGE = int(read("SESSION_AGE", parse_duration, "14d").total_seconds())
CSRF_COOKIE_NAME = "cortex_csrf"
CSRF_COOKIE_SECURE = HTTPS
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "cortex_admin.errors.csrf_failure"

# --- What browsers are told ----------------------------------------------------------------

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
        "base-uri": [NONE],
    },
}
X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_SSL_REDIRECT = HTTPS
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = HTTPS
# Only a deployment that says it stands behind HTTPS trusts the proxy's word for it.
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None

# The parser of the API holds bodies to 32 MiB itself; forms on pages stay well below this.
DATA_UPLOAD_MAX_MEMORY_SIZE = 32 * 1024 * 1024

# --- Static files --------------------------------------------------------------------------

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = VAR_DIR / "static"
WHITENOISE_KEEP_ONLY_HASHED_FILES = True
WHITENOISE_SKIP_COMPRESS_EXTENSIONS = (*Compressor.SKIP_COMPRESS_EXTENSIONS, "map")
WHITENOISE_USE_FINDERS = DEBUG
WHITENOISE_AUTOREFRESH = DEBUG
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}

# --- Mail ----------------------------------------------------------------------------------


def parse_email(url: str) -> dict[str, Any]:
    """Turn a mail URL such as ``smtp+tls://user:password@host:587`` into Django's settings."""
    if url.partition(":")[0] not in environ.Env.EMAIL_SCHEMES:
        raise ValueError("not a mail address such as smtp+tls://user:password@host:587")
    return dict(environ.Env.email_url_config(url))


globals().update(read("EMAIL_URL", parse_email, "consolemail://"))
DEFAULT_FROM_EMAIL = read("EMAIL_FROM", str, "cortex-admin@localhost")

# --- REST framework ------------------------------------------------------------------------

REST_FRAMEWORK: dict[str, Any] = {
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "EXCEPTION_HANDLER": "suspensions.api.errors.handle_exception",
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS: dict[str, Any] = {
    "TITLE": "Cortex Admin",
    "DESCRIPTION": "The suspension store of AI agents.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.1",
    "SERVE_INCLUDE_SCHEMA": False,
    "DEFAULT_GENERATOR_CLASS": "suspensions.api.schema.generator.Generator",
    "SCHEMA_PATH_PREFIX": "/api/v1/",
}

# --- Logs ----------------------------------------------------------------------------------

LOG_FORMAT = read("LOG_FORMAT", parse_choice("text", "json"), "text")
ACCESS_LOG = read("ACCESS_LOG", parse_flag, "true")
LOG_LEVEL = read("LOG_LEVEL", parse_choice("DEBUG", "INFO", "WARNING", "ERROR"), "INFO")

_SHARED_PROCESSORS: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]

# Both renderers would print the local variables of every frame by default: payloads and tokens.
LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "structured": {
            "()": "structlog.stdlib.ProcessorFormatter",
            "processors": [
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                *(
                    [
                        structlog.processors.ExceptionRenderer(
                            structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
                        ),
                        structlog.processors.JSONRenderer(ensure_ascii=False),
                    ]
                    if LOG_FORMAT == "json"
                    else [
                        structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)
                    ]
                ),
            ],
            "foreign_pre_chain": _SHARED_PROCESSORS,
        },
    },
    "handlers": {
        "stderr": {"class": "logging.StreamHandler", "formatter": "structured"},
    },
    "root": {"handlers": ["stderr"], "level": LOG_LEVEL},
    "loggers": {
        # Its own handlers would print a second line in another format, and mail the admins.
        "django": {"handlers": [], "propagate": True, "level": LOG_LEVEL},
        # The access log has the status; this one would repeat every refusal as a warning.
        "django.request": {"level": "ERROR"},
        "django.server": {"handlers": [], "propagate": True, "level": LOG_LEVEL},
        "cortex.access": {"level": "INFO" if ACCESS_LOG else "WARNING"},
        # They would log the addresses of webhooks, which may hold secrets.
        "httpx": {"level": "WARNING"},
        "httpcore": {"level": "WARNING"},
    },
}

structlog.configure(
    processors=[*_SHARED_PROCESSORS, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
    wrapper_class=structlog.stdlib.BoundLogger,
    logger_factory=structlog.stdlib.LoggerFactory(),
    cache_logger_on_first_use=True,
)
