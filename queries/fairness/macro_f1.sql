-- The mean of the F1 of the classes that a row of known prediction and label has on either side. The F1 is
-- the harmonic mean of precision and recall, and 0 if one of the two is 0 or missing.
-- views: _groups.sql
WITH known AS (
    FROM rows WHERE pred IS NOT NULL AND label IS NOT NULL AND weight > 0
),
found AS (
    SELECT DISTINCT slice, unnest([pred, label]) AS class FROM known
),
rates AS (
    SELECT found.slice, class, share(label = class, pred = class) AS precision,
           share(pred = class, label = class) AS recall
    FROM found
    JOIN known ON known.slice IS NOT DISTINCT FROM found.slice
    GROUP BY found.slice, class
),
scores AS (
    SELECT slice, CASE WHEN precision > 0 AND recall > 0 THEN 2 / (1 / precision + 1 / recall) ELSE 0 END AS f1
    FROM rates
)
SELECT slices.slice, avg(f1) AS value
FROM slices
LEFT JOIN scores ON scores.slice IS NOT DISTINCT FROM slices.slice
GROUP BY slices.slice
