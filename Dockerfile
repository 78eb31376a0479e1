# One image for web server, sweeper and delivery: only the command differs.
FROM python:3.11-slim AS packages
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python -m venv /opt/venv
COPY requirements.lock /tmp/requirements.lock
RUN /opt/venv/bin/pip install --require-hashes --requirement /tmp/requirements.lock

FROM python:3.11-slim
ENV PATH=/opt/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 LOG_FORMAT=json
RUN useradd --system --uid 10001 --home-dir /app --no-create-home cortex
COPY --from=packages /opt/venv /opt/venv
WORKDIR /app
COPY manage.py ./
COPY cortex_admin ./cortex_admin
COPY suspensions ./suspensions
COPY templates ./templates
COPY static ./static
# Collected here, so that the container starts at once and may be mounted read-only.
RUN mkdir var \
    && SECRET_KEY=used-for-this-step-alone-and-for-nothing-else DATABASE_URL=sqlite:////tmp/build.sqlite3 \
       python manage.py shell --no-imports -c \
       "from suspensions.management.statics import ensure_static_files; ensure_static_files()" \
    && chown -R cortex var
USER cortex
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/healthz', timeout=2)"]
CMD ["python", "manage.py", "serve", "--bind", "0.0.0.0:8000"]
