"""Who may do what: grants, tokens and proof issuers. Source: api.md "Who calls", store.md section 6."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

from suspensions.domain.policy import Role
from suspensions.models.fields import ExactTextField, InstantField


class Principal(models.Model):
    """A person or a service behind an account; what the account model itself does not keep."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, primary_key=True, on_delete=models.CASCADE, related_name="principal"
    )
    name = ExactTextField(unique=True)
    is_service = models.BooleanField(default=False)
    time_zone = models.TextField(default="UTC")
    theme = models.TextField(default="system")
    single_keys = models.BooleanField(default=True)

    class Meta:
        db_table = "principal"
        constraints = [
            # "ana" and "Ana" would otherwise be two people, one approving the other's request.
            models.UniqueConstraint(Lower("name"), name="principal_name_any_case"),
            models.CheckConstraint(name="principal_theme_known", condition=Q(theme__in=["system", "light", "dark"])),
        ]


class Grant(models.Model):
    """A role at a scope, covering the scopes below it."""

    principal = models.ForeignKey(Principal, on_delete=models.CASCADE, related_name="grants")
    scope = ExactTextField()
    role = ExactTextField()
    created_by = ExactTextField()
    created_at = InstantField()

    class Meta:
        db_table = "access_grant"
        constraints = [
            models.UniqueConstraint(name="grant_once", fields=["principal", "scope", "role"]),
            models.CheckConstraint(name="grant_role_known", condition=Q(role__in=[str(role) for role in Role])),
        ]


class Token(models.Model):
    """A bearer token: shown once, stored as a digest, found by it."""

    principal = models.ForeignKey(Principal, on_delete=models.CASCADE, related_name="tokens")
    name = ExactTextField()
    prefix = ExactTextField()
    digest = ExactTextField(unique=True)
    created_by = ExactTextField()
    created_at = InstantField()
    expires_at = InstantField(null=True)
    last_used_at = InstantField(null=True)
    revoked_at = InstantField(null=True)

    class Meta:
        db_table = "access_token"
        constraints = [
            models.UniqueConstraint(
                name="token_name_once", fields=["principal", "name"], condition=Q(revoked_at__isnull=True)
            ),
        ]


class ProofIssuer(models.Model):
    """A registered issuer of proofs, one row per revision; a revocation locks only its own row."""

    name = ExactTextField()
    revision = ExactTextField()
    scope = ExactTextField()
    public_key = models.TextField()
    created_by = ExactTextField()
    created_at = InstantField()
    revoked_at = InstantField(null=True)
    revoked_by = ExactTextField(null=True)

    class Meta:
        db_table = "proof_issuer"
        constraints = [models.UniqueConstraint(name="issuer_revision_once", fields=["name", "revision"])]


class Looking(models.Model):
    """Somebody has a pause's page open: a soft mark that means nothing any more once it was not renewed."""

    suspension_id = ExactTextField()
    principal = models.ForeignKey(Principal, on_delete=models.CASCADE, related_name="+")
    since = InstantField()
    seen_at = InstantField()

    class Meta:
        db_table = "looking"
        constraints = [models.UniqueConstraint(name="looking_once", fields=["suspension_id", "principal"])]
