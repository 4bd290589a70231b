-- What the statements that compare clusters with labels share.

-- One row per slice.
CREATE OR REPLACE TEMP VIEW slices AS
SELECT DISTINCT slice FROM points;

-- One row per unit: a row of known cluster, repeated as often as its weight says. `part` names the
-- cluster, or the unit itself where the cluster is noise: every unit of noise is a cluster of its
-- own.
CREATE OR REPLACE TEMP VIEW units AS
SELECT slice, id, cluster, label,
       CASE WHEN cluster = getvariable('noise') THEN 'row ' || id
            ELSE 'cluster ' || cluster::VARCHAR END AS part
FROM (
    SELECT slice, cluster, label, row_number() OVER (ORDER BY origin) AS id
    FROM (SELECT slice, cluster, label, rowid AS origin, unnest(range(weight::BIGINT)) FROM points)
)
WHERE cluster IS NOT NULL;

-- One row per unit of known label, with the number of such units in its slice, its cluster, its
-- label, and both. A slice without such a unit has one row of NULLs.
CREATE OR REPLACE TEMP VIEW counted AS
SELECT slices.slice, known.* EXCLUDE (slice)
FROM slices
LEFT JOIN (
    SELECT slice, cluster, part, label,
           count(*) OVER (PARTITION BY slice) AS n,
           count(*) OVER (PARTITION BY slice, part) AS in_cluster,
           count(*) OVER (PARTITION BY slice, label) AS of_label,
           count(*) OVER (PARTITION BY slice, part, label) AS shared
    FROM units
    WHERE label IS NOT NULL
) AS known ON known.slice IS NOT DISTINCT FROM slices.slice;

-- One row per cluster, with the counts of its commonest label; of equals, of the rarer one overall.
CREATE OR REPLACE TEMP VIEW commonest AS
SELECT slice, cluster, shared, in_cluster, of_label
FROM counted
QUALIFY row_number() OVER (PARTITION BY slice, part ORDER BY shared DESC, of_label) = 1;

-- One row per pair of units of known label: are they in one cluster, and have they one label? `n`
-- is the number of such units in the slice. A slice without a pair has one row with NULL for both.
CREATE OR REPLACE TEMP VIEW pairs AS
WITH known AS MATERIALIZED (SELECT slice, id, part, label FROM units WHERE label IS NOT NULL),
sizes AS (
    SELECT slices.slice, count(known.id) AS n
    FROM slices
    LEFT JOIN known ON known.slice IS NOT DISTINCT FROM slices.slice
    GROUP BY slices.slice
)
SELECT sizes.slice, n, one.part = other.part AS together, one.label = other.label AS alike
FROM sizes
LEFT JOIN (
    known AS one JOIN known AS other
        ON one.slice IS NOT DISTINCT FROM other.slice AND one.id < other.id
) ON one.slice IS NOT DISTINCT FROM sizes.slice;

-- Nats in units of the option `base`.
CREATE OR REPLACE TEMP MACRO in_base(nats) AS
    nats / ln(coalesce(getvariable('base'), exp(1)));

-- The mean of two entropies, of the kind that the option `average` names; `usual` unless it is
-- given. The kind `joint` is the entropy of both together.
CREATE OR REPLACE TEMP MACRO mean_entropy(one, other, jointly, usual) AS
    CASE coalesce(getvariable('average'), usual)
        WHEN 'geometric' THEN sqrt(one * other)
        WHEN 'arithmetic' THEN (one + other) / 2
        WHEN 'min' THEN least(one, other)
        WHEN 'max' THEN greatest(one, other)
        WHEN 'joint' THEN jointly
    END;
