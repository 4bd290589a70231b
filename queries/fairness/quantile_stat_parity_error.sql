-- Bound of the difference of shares at or above the q-quantile: of all groups, the largest share that
-- lies in the bin of the quantile, if that bin has a width.
WITH valued AS (
    -- the prediction, or the lower edge of its bin
    SELECT *, coalesce(getvariable('bins')::DOUBLE[], edges) AS bins,
           CASE WHEN bins IS NULL THEN pred
                ELSE list_max(list_filter(bins, lambda e: e <= pred)) END AS low
    FROM rows
    WHERE pred IS NOT NULL AND weight > 0
),
ranks AS (
    SELECT slice, low, sum(weight) OVER (PARTITION BY slice ORDER BY low) AS through
    FROM valued
),
positions AS (
    SELECT slice, greatest(max(through) - 1, 0) * coalesce(getvariable('q'), 0.5) AS h
    FROM ranks
    GROUP BY slice
),
cuts AS (
    -- the q-quantile: between the values of rank floor(h) and the next, counted from 0
    SELECT p.slice, h - floor(h) AS t,
           min(low) FILTER (through > floor(h)) AS here,
           coalesce(min(low) FILTER (through > floor(h) + 1), here) AS after,
           CASE WHEN t < 0.5 THEN here + (after - here) * t
                ELSE after - (after - here) * (1 - t) END AS cut
    FROM positions AS p
    JOIN ranks AS r ON r.slice IS NOT DISTINCT FROM p.slice
    GROUP BY p.slice, h
),
kept AS (
    SELECT v.*, cut, low >= cut AS kept
    FROM valued AS v
    JOIN cuts ON cuts.slice IS NOT DISTINCT FROM v.slice
),
lowest AS (
    SELECT slice, min(low) AS low FROM kept WHERE kept GROUP BY slice
),
shares AS (
    SELECT k.slice, k."group",
           sum(weight * (bins IS NOT NULL AND k.low = lowest.low
                         AND k.low < list_max(bins))::INT)
               / sum(weight) AS share
    FROM kept AS k
    JOIN lowest ON lowest.slice IS NOT DISTINCT FROM k.slice
    WHERE k."group" IS NOT NULL
    GROUP BY ALL
)
SELECT everyone.slice, max(share) AS value
FROM (SELECT DISTINCT slice FROM rows) AS everyone
LEFT JOIN shares ON shares.slice IS NOT DISTINCT FROM everyone.slice
GROUP BY everyone.slice
