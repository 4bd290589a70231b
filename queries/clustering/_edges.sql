-- What the statements on edges share.

-- One row per end of an edge: the cluster `here` of that end, and the cluster `there` of the other
-- end. A slice without an edge has one row of NULLs.
CREATE OR REPLACE TEMP VIEW ends AS
WITH known AS (
    FROM edges WHERE cluster IS NOT NULL AND other IS NOT NULL AND weight > 0
),
both_ends AS (
    SELECT slice, cluster AS here, other AS there, weight FROM known
    UNION ALL
    SELECT slice, other, cluster, weight FROM known
)
SELECT every.slice, here, there, weight
FROM (SELECT DISTINCT slice FROM edges) AS every
LEFT JOIN both_ends ON both_ends.slice IS NOT DISTINCT FROM every.slice;
